/** `postrider complete <shell>`: completion of commands and options, from the commands themselves, and of names, from the node. */

import { ShellCompDirective, type Argument, type Option, type RootCommand } from '@bomb.sh/tab'
import tab from '@bomb.sh/tab/commander'
import type { Command } from 'commander'
import { createApi, type Api } from './shared/api.ts'
import { bashCompletion } from './shared/bash-completion.ts'
import { findConnection, type ConnectionOptions } from './shared/connection.ts'
import { listAlertChannels, listAudiences, listDestinations, listSources } from './shared/lookup.ts'

/** How long a node has for its names, in milliseconds: who types waits for them. */
const namesLimitMs = 3_000

interface Completion {
  value: string
  description: string
}

/** Adds the command; all others must be there already. */
export function addCompletion(program: Command): void {
  const root = tab(program)
  program.commands
    .find((command) => command.name() === 'complete')
    ?.description('print a script that completes commands, options and names in your shell')
  const parse = root.parse.bind(root)
  const setup = root.setup.bind(root)
  root.parse = (words) => void offerValues(root, program, words).then(() => parse(words))
  root.setup = (name, executable, shell) =>
    shell === 'bash' ? console.log(bashCompletion(name)) : setup(name, executable, shell)
}

/** What the node says that a value may be, by what help calls that value. */
const lists: Record<string, (api: Api) => Promise<Completion[]>> = {
  source: async (api) => namesOf(await listSources(api)),
  destination: async (api) => namesOf(await listDestinations(api)),
  audience: async (api) => namesOf(await listAudiences(api)),
  channel: async (api) => namesOf(await listAlertChannels(api)),
  endpoint: async (api) =>
    (await listDestinations(api)).flatMap(({ name, settings }) =>
      settings.webhooks.map(({ id, url }) => ({ value: id, description: `${name}: ${url}` })),
    ),
}

const namesOf = (things: { id: string; name: string }[]): Completion[] =>
  // A shell reads lines, each with a tab between the value and what it is.
  things.filter(({ name }) => !/\p{Cc}/u.test(name)).map(({ id, name }) => ({ value: name, description: id }))

/** Makes the arguments and options of the command that is typed offer what their values may be. */
async function offerValues(root: RootCommand, program: Command, words: string[]): Promise<void> {
  const places = placesOf(root, program, words.slice(0, -1))
  let isFile = false
  Object.defineProperty(root, 'directive', {
    get: () =>
      isFile ? ShellCompDirective.ShellCompDirectiveDefault : ShellCompDirective.ShellCompDirectiveNoFileComp,
    // The library would have no files at all.
    set: () => {},
  })
  const kinds = [...new Set(places.map(({ what }) => what))]
  const known = await askNode(
    program,
    words,
    kinds.filter((what) => what in lists),
  )
  for (const { what, place } of places)
    place.handler = (complete) => {
      isFile = what === 'file'
      for (const { value, description } of known.get(what) ?? []) complete(value, description.replace(/\p{Cc}+/gu, ' '))
    }
}

/** Values of the command that the words name, of which a list or the files are known. */
function placesOf(root: RootCommand, program: Command, words: string[]): { what: string; place: Argument | Option }[] {
  let command = program
  const path: string[] = []
  for (const word of words) {
    const next = command.commands.find((one) => one.name() === word)
    if (next === undefined) continue
    command = next
    path.push(word)
  }
  const typed = root.commands.get(path.join(' '))
  const found = [
    ...command.registeredArguments.map((one) => [one.name(), typed?.arguments.get(one.name())] as const),
    ...command.options.map((one) => {
      const [, what = ''] = /[<[](\w+)[>\]]/.exec(one.flags) ?? []
      return [what, typed?.options.get(one.long?.slice(2) ?? '')] as const
    }),
  ]
  return found.flatMap(([what, place]) =>
    place !== undefined && (what === 'file' || what in lists) ? [{ what, place }] : [],
  )
}

/** The lists of these kinds; without a node, none. */
async function askNode(program: Command, words: string[], kinds: string[]): Promise<Map<string, Completion[]>> {
  if (kinds.length === 0) return new Map()
  try {
    program.parseOptions(words)
    const { address, token } = await findConnection(program.opts<ConnectionOptions>(), process.env)
    const api = createApi(address, token, AbortSignal.timeout(namesLimitMs))
    return new Map(await Promise.all(kinds.map(async (what) => [what, (await lists[what]?.(api)) ?? []] as const)))
  } catch {
    // A shell has no place for what went wrong.
    return new Map()
  }
}
