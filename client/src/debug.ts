/** Logging that a program's user switches on: `DEBUG=analytics`. `spec/`, "Events" of the client library. */

/** A function that writes one line to the console when `setting` names `analytics` or has a star for all libraries, as in `*,-http`, and
 *  otherwise does nothing. */
export function createDebug(setting: string): (line: string) => void {
  const names = setting.split(/[\s,]+/)
  return ['analytics', '*'].some((name) => names.includes(name)) && !names.includes('-analytics')
    ? (line) => console.error(`analytics ${line}`)
    : () => {}
}
