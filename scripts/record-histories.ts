/** Records the histories of workflows on every path, from a real run, for `test/replay.test.ts`:
 *  `npx tsx scripts/record-histories.ts`, or with `deliveries`, `parcels`, `audiences` or names of paths only those. Run it when a workflow
 *  has a new path; what was recorded stays as it is: `test/histories/README.md`. */

import { audiencePaths, shortHistories } from './histories/audiences.ts'
import { deliveryPaths } from './histories/deliveries.ts'
import { parcelPaths } from './histories/parcels.ts'
import { startRecorder } from './histories/recorder.ts'

const groups = {
  deliveries: { paths: deliveryPaths, dynamicConfig: shortHistories },
  parcels: { paths: parcelPaths, dynamicConfig: {} },
  audiences: { paths: audiencePaths, dynamicConfig: shortHistories },
}
const wanted = process.argv.slice(2)
for (const [name, { paths, dynamicConfig }] of Object.entries(groups)) {
  const recorder = await startRecorder(dynamicConfig)
  try {
    const isWanted = ([path]: [string, unknown]) =>
      wanted.length === 0 || wanted.includes(name) || wanted.includes(path)
    await recorder.record(Object.fromEntries(Object.entries(paths(recorder)).filter(isWanted)))
  } finally {
    await recorder.stop()
  }
}
process.exit(0)
