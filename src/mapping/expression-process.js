// @ts-check
/** The process in which expressions of mappings are evaluated, one event after the other. A thread would not do: where a single allocation
 *  finds no room in the memory of a thread, V8 ends the whole process. JavaScript, because a process of its own knows nothing of the loader that
 *  runs the TypeScript sources in tests. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import process from 'node:process'
import { createContext, Script } from 'node:vm'

const [timeMs, maxResultLength, unavailable] = process.argv.slice(2)

/** Expressions see nothing of Node.js. Promises are settled within the time of a script. */
const context = createContext(
  {
    module: { exports: {} },
    exports: {},
    maxResultLength: Number(maxResultLength),
    unavailable: unavailable?.split(','),
  },
  { microtaskMode: 'afterEvaluate', codeGeneration: { strings: false, wasm: false } },
)

// In a context, what a script itself declares is found ten times as fast as what its global object has.
new Script('const { Array, JSON, Math, Number, Object, Promise, String, Symbol } = globalThis').runInContext(context)
new Script(readFileSync(createRequire(import.meta.url).resolve('jsonata'), 'utf8')).runInContext(context)
// Each attempt is to come to the same on each node: time stands still, and times without a zone are in UTC.
new Script(`
  const jsonata = module.exports
  const NativeDate = Date
  globalThis.Date = class extends NativeDate {
    constructor(...args) {
      if (args.length === 0) super(0)
      else super(...args)
    }
    static now() {
      return 0
    }
    static parse(text) {
      return NativeDate.parse(/T[\\d:.]+$/.test(text) ? text + 'Z' : text)
    }
  }

  const maxReady = 100
  const ready = new Map()
  function compile(text) {
    const known = ready.get(text)
    if (known !== undefined) return known
    const compiled = jsonata(text)
    for (const name of unavailable)
      compiled.registerFunction(name, () => {
        throw { code: '$' + name + ', which is not available,' }
      })
    if (ready.size >= maxReady) ready.clear()
    ready.set(text, compiled)
    return compiled
  }

  async function evaluate(expression, event) {
    try {
      const result = await compile(expression).evaluate(event)
      if (typeof result !== 'object' || result === null || Array.isArray(result))
        return { problem: 'the result is no object' }
      const body = JSON.stringify(result)
      return body.length > maxResultLength
        ? { problem: 'the result is longer than ' + maxResultLength + ' characters' }
        : { body }
    } catch ({ code = 'an error', position }) {
      // Its message may hold values of the event.
      return { problem: code + (position === undefined ? '' : ' at character ' + position) }
    }
  }
`).runInContext(context)

// Each answer stands as soon as it is there, so that those before one that does not end count.
const script = new Script(`
  isDone = false
  answers = []
  void (async () => {
    for (const event of JSON.parse(events)) answers.push(await evaluate(expression, event))
    isDone = true
  })()
`)

/** @param {{ expression: string, events: string }} jobs  events as a JSON array */
function evaluateAll({ expression, events }) {
  Object.assign(context, { expression, events })
  try {
    script.runInContext(context, { timeout: Number(timeMs) })
  } catch (error) {
    if (/** @type {{ code?: string }} */ (error).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
  }
}

// Sent to all processes of a terminal: the node stops, and finishes what is under way before.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})

process.on('message', (/** @type {{ expression: string, events: string }} */ jobs) => {
  evaluateAll(jobs)
  process.send?.(context['answers'], () => {
    // What one that does not end left behind would go on with the next one: that one gets another process.
    if (context['isDone'] !== true) process.exit()
  })
})
