import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'client/test/**/*.test.ts'],
    // Builds Temporal's server first: `npm run test:topology`.
    exclude: ['test/topology/**'],
    setupFiles: 'test/support/quiet-temporal.ts',
    globalSetup: 'test/support/global-setup.ts',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // Two cores carry the Temporal server, the databases and the tests together.
    maxWorkers: 2,
  },
})
