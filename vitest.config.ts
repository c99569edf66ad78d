import { defineConfig } from 'vitest/config'
import { baselineWasm } from './test/support/baseline-wasm.ts'
import { LongestFirst } from './test/support/longest-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'client/test/**/*.test.ts'],
    // These get programs first: `npm run test:topology` and `npm run test:runtimes`.
    exclude: ['test/topology/**', 'client/test/runtimes/**'],
    globalSetup: 'test/support/global-setup.ts',
    // Each may start a process, and a machine that does much else is slow to start them.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // No module keeps state, so files share a process: loading the server's modules anew takes a second or two of CPU.
    isolate: false,
    execArgv: baselineWasm,
    sequence: { sequencer: LongestFirst },
    // Two cores carry it: tests of killed processes and of time limits mostly wait.
    maxWorkers: 3,
  },
})
