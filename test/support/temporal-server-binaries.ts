/** Temporal's own server and SQL tool, built from their Go module and kept in the per-user cache. */
import { provideGoPrograms } from './go-programs.ts'

/** The server that the embedded one (Temporal CLI 1.5.1) contains, and that docker-compose.yml runs. */
export const TEMPORAL_SERVER_VERSION = '1.29.1'

const MODULE = 'go.temporal.io/server'

/** The folder with `temporal-server` and `temporal-sql-tool`: 130 MB, some 4 minutes on 2 cores to build.
 *  @param report  gets one line before a build
 *  @throws Error when Go is not on `PATH`, or with the compiler's words when the build fails */
export const provideTemporalServerBinaries = (report: (line: string) => void): Promise<string> =>
  provideGoPrograms({
    name: 'temporal-server',
    version: TEMPORAL_SERVER_VERSION,
    packages: { [`${MODULE}/cmd/server`]: 'temporal-server', [`${MODULE}/cmd/tools/sql`]: 'temporal-sql-tool' },
    report,
  })
