/** `npx tsx bench/capacity.ts --rate 20000`: cores and workflows for a rate of events; docs/scaling.md. */

import { parseArgs } from 'node:util'
import { capacityFor } from './capacity/model.ts'

const { values } = parseArgs({
  options: {
    /** Events a second. */
    rate: { type: 'string', default: '10000' },
    /** Events that share a workflow. */
    parcel: { type: 'string', default: '100' },
  },
})
console.table([capacityFor(Number(values.rate), Number(values.parcel))])
