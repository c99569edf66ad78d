/** Options of Node for processes with an embedded database: they end before code that V8 optimizes for PGlite has paid for
 *  itself, which takes half a second of CPU per start. */
export const baselineWasm = ['--liftoff-only']
