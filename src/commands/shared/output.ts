/** What a command prints: text for people, or JSON for programs; results to stdout, all else to stderr. */

import Table from 'cli-table3'
import pc from 'picocolors'

export interface Output {
  /** Whether programs read it. */
  isJson: boolean
  /** The command's result: one JSON document, or the text that `text` makes of it. */
  result<Value>(value: Value, text: (value: Value) => string): void
  /** One item of a stream: one line of JSON, or its text. */
  item<Value>(value: Value, text: (value: Value) => string): void
  /** A remark to people about what is going on. */
  note(text: string): void
}

export const createOutput = (isJson: boolean): Output => ({
  isJson,
  result: (value, text) => console.log(isJson ? JSON.stringify(value, null, 2) : text(value)),
  item: (value, text) => console.log(isJson ? JSON.stringify(value) : text(value)),
  note: (text) => {
    if (!isJson) console.error(text)
  },
})

/** Longest text of a cell at a terminal, in characters; programs that read a pipe get all. */
const maxCellLength = 100

/** Text of others, without what would steer the terminal. */
export const printable = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')

/** JSON of others, indented, likewise. */
export const printableJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).split('\n').map(printable).join('\n')

const textOf = (value: unknown): string => (value === null || value === undefined ? '' : printable(value))

const cell = (value: unknown): string => {
  const text = textOf(value)
  return process.stdout.isTTY && text.length > maxCellLength ? `${text.slice(0, maxCellLength - 1)}…` : text
}

const borderless = Object.fromEntries(
  [
    ...['top', 'bottom', 'mid'].flatMap((side) => [side, `${side}-mid`, `${side}-left`, `${side}-right`]),
    ...['left', 'left-mid', 'mid-mid', 'right', 'right-mid'],
  ].map((name) => [name, '']),
)

/** A table of columns without lines; `empty` when it has no rows. */
export function table(head: string[], rows: unknown[][], empty: string): string {
  if (rows.length === 0) return empty
  const drawn = new Table({
    head: head.map((name) => pc.bold(name)),
    chars: { ...borderless, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  drawn.push(...rows.map((row) => row.map((value) => colored(cell(value)))))
  return drawn.toString().replace(/ +$/gm, '')
}

/** Names and values below each other, whole. */
export function facts(members: Record<string, unknown>): string {
  const width = Math.max(...Object.keys(members).map((name) => name.length + 1))
  return Object.entries(members)
    .map(([name, value]) => `${`${name}:`.padEnd(width)}  ${colored(textOf(value))}`.trimEnd())
    .join('\n')
}

const good = new Set(['delivered', 'completed', 'ok', 'on'])
const bad = new Set(['failed', 'refused', 'rejected', 'unavailable', 'problem'])
const waiting = new Set(['retrying', 'held', 'queued', 'running', 'delivering', 'paused', 'off', 'warning'])

/** Words for states in the colour of the state. */
export const colored = (text: string): string =>
  good.has(text) ? pc.green(text) : bad.has(text) ? pc.red(text) : waiting.has(text) ? pc.yellow(text) : text
