/** Logging that a program's user switches on: `DEBUG=analytics`. `spec/`, "Events" of the client library. */

/** A function that writes one line to the console when `setting` names `analytics`, and otherwise does nothing. */
export function createDebug(setting: string): (line: string) => void {
  return setting.split(/[\s,]+/).includes('analytics') ? (line) => console.error(`analytics ${line}`) : () => {}
}
