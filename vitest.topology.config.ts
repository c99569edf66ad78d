import { defineConfig } from 'vitest/config'

/** The topology of docker-compose.yml on real parts; apart from `npm test`, as it builds Temporal's server. */
export default defineConfig({
  test: {
    include: ['test/topology/**/*.test.ts'],
    globalSetup: 'test/topology/global-setup.ts',
    testTimeout: 240_000,
    hookTimeout: 180_000,
    // Two cores carry a whole cluster: one at a time.
    fileParallelism: false,
  },
})
