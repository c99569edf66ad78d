/** What every way of getting the Temporal CLI, by download or by build, is given and answers. */

export interface ObtainOptions {
  /** Environment of the tools that are run. */
  env: NodeJS.ProcessEnv
  /** Ends the download or the build. */
  signal: AbortSignal
  /** Takes one line of text at a time, for the operator who waits. */
  onProgress: (line: string) => void
}

/** The path of the executable, or in words why there is none. */
export type Obtained = { path: string } | { failure: string }
