/** Readers of option values. */

import { InvalidArgumentError, Option, type Command } from 'commander'
import ms from 'ms'
import { longestPauseSeconds, maxFirstPauseSeconds, type RetryPauses } from '../../schemas/retry-options.ts'
import { usageError } from './failure.ts'

const durationMs = (text: string): number | undefined =>
  /^\d+(\.\d+)?\s*(ms|s|m|h|d|w)$/i.test(text) ? ms(text as ms.StringValue) : undefined

/** How long a command follows what it began, in milliseconds. @param limit  unless told otherwise, such as `30s` */
export const timeoutOption = (what: string, limit: string): Option =>
  new Option('--timeout <duration>', what).argParser(duration).default(duration(limit), limit)

/** A duration such as `30s`, in milliseconds. */
export function duration(text: string): number {
  const value = durationMs(text)
  if (value === undefined) throw new InvalidArgumentError('It must be a duration such as 30s, 15m or 2h.')
  return value
}

/** A duration in milliseconds where the node takes whole seconds, or whole hours, within bounds.
 *  @param min  shortest, in seconds
 *  @param max  longest, in seconds */
export const durationWithin =
  (min: number, max: number, unit: 'seconds' | 'hours' = 'seconds') =>
  (text: string): number => {
    const value = durationMs(text)
    const isWhole = value !== undefined && value % (unit === 'hours' ? 3_600_000 : 1_000) === 0
    if (isWhole && value >= min * 1_000 && value <= max * 1_000) return value
    const bounds = min === 0 ? `of at most ${shown(max, unit)}` : `from ${shown(min, unit)} to ${shown(max, unit)}`
    throw new InvalidArgumentError(`It must be a duration ${bounds}, in whole ${unit}.`)
  }

const shown = (seconds: number, unit: 'seconds' | 'hours'): string =>
  unit === 'hours' ? `${seconds / 3_600}h` : ms(seconds * 1_000)

/** The pauses of retries such as `30s..15m`. */
export function retryPauses(text: string): RetryPauses {
  const [first, longest, ...others] = text.split('..')
  if (first === undefined || longest === undefined || others.length > 0)
    throw new InvalidArgumentError('It must be the first pause and the longest one, such as 30s..15m.')
  const pauses = {
    firstSeconds: secondsOf(durationWithin(1, maxFirstPauseSeconds)(first)),
    maxSeconds: secondsOf(durationWithin(longestPauseSeconds.min, longestPauseSeconds.max)(longest)),
  }
  if (pauses.firstSeconds <= pauses.maxSeconds) return pauses
  throw new InvalidArgumentError('The first pause must not be longer than the longest one.')
}

/** A duration in milliseconds, as members of the API have it. */
export const secondsOf = (ms: number): number => Math.round(ms / 1_000)

/** A moment as ISO 8601, or that long ago. */
export function moment(text: string): string {
  const ago = durationMs(text)
  const time = ago === undefined ? Date.parse(text) : Date.now() - ago
  if (Number.isNaN(time))
    throw new InvalidArgumentError('It must be a time such as 2026-01-31T12:00:00Z, or 2h for ago.')
  return new Date(time).toISOString()
}

/** A whole number from `min` to `max`. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`)
  }

/** A value, or `none`: commander has no option whose value is null. */
export const orNone =
  <Value>(read: (text: string) => Value) =>
  (text: string): OrNone<Value> =>
    text === 'none' ? text : read(text)
export type OrNone<Value> = Value | 'none'

/** What `orNone` read, as the API has it. */
export const nullIfNone = <Value>(value: OrNone<Value>): Value | null => (value === 'none' ? null : value)

/** Values of an option that may be given several times. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value]

/** HTTP statuses and ranges of an option that may be given several times; `none` for none. The node says what is wrong with them. */
export const collectStatuses = (text: string, before: (number | string)[] = []): (number | string)[] =>
  text === 'none' ? [] : [...before, /^\d+$/.test(text) ? Number(text) : text]

/** `Name: value` pairs of an option that may be given several times. */
export function collectHeaders(text: string, before: Record<string, string> = {}): Record<string, string> {
  const colon = text.indexOf(':')
  if (colon < 1) throw new InvalidArgumentError('It must be a header such as "X-Tenant: a1".')
  return { ...before, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() }
}

export function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text
  throw new InvalidArgumentError('It must be a full http or https URL.')
}

/** A JSON object. */
export function jsonObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('It must be a JSON object such as \'{"plan":"pro"}\'.')
}

/** @throws CommandError (usage) when the command line has none of the command's options, which say what to change */
export function expectChange(command: Command): void {
  const isGiven = command.options.some((one) => command.getOptionValueSource(one.attributeName()) === 'cli')
  if (isGiven) return
  const words = [command.parent?.name(), command.name()].filter(Boolean).join(' ')
  throw usageError(`give what to change; see: postrider ${words} --help`)
}

/** What a variable holds whose name was given in place of a secret.
 *  @throws CommandError (usage) when it is not set */
export function environmentVariable(environment: NodeJS.ProcessEnv, name: string): string {
  const value = environment[name]
  if (value === undefined || value === '') throw usageError(`the environment variable ${name} is not set`)
  return value
}
