import { defineConfig } from 'vitest/config'

/** The client library under Deno and Bun; apart from `npm test`, as it fetches them: some 200 MB, once. */
export default defineConfig({
  test: {
    include: ['client/test/runtimes/**/*.test.ts'],
    globalSetup: 'client/test/runtimes/global-setup.ts',
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
})
