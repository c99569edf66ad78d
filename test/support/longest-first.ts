/** The order of the test files: those that take longest begin, so that none of them is the last one to run alone. */

import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Those that take half a minute or more. They begin in this order: what mostly waits beside what mostly works. */
const longest = [
  'test/web/looks.test.ts',
  'test/web/night.test.ts',
  'test/web/many-attempts.test.ts',
  'test/web/setting-up.test.ts',
  'test/system/crash.test.ts',
  'test/system/inbox.test.ts',
  'test/web/operating.test.ts',
  'test/web/looking-after.test.ts',
  'test/temporal/embedded-server.test.ts',
  'test/audiences/control.test.ts',
  'test/system/steering-crash.test.ts',
  'test/system/hold.test.ts',
  'test/audiences/kill.test.ts',
  'test/cli/settings.test.ts',
  'test/system/endpoints.test.ts',
  'test/audiences/sync.test.ts',
  'test/cli/machine.test.ts',
]

const rank = ({ moduleId }: TestSpecification): number => {
  const place = longest.findIndex((path) => moduleId.endsWith(`/${path}`))
  return place < 0 ? longest.length : place
}

/** Vitest knows durations only from runs before, and a fresh clone has none. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}
