/** Expressions of mappings, evaluated in processes of their own: one that does not end, or takes all memory, harms nothing else. */

import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { unavailableFunctions } from './check-expression.ts'
import { mappingFailure, type Evaluate, type Mapped } from './mapping.ts'

/** What an expression may take, for one event. */
export interface ExpressionLimits {
  timeMs: number
  memoryMb: number
}

const defaultLimits: ExpressionLimits = { timeMs: 1_000, memoryMb: 64 }

/** Longest result, as JSON: twice the longest event. */
const maxResultLength = 64 * 1024

/** Processes of a node. An expression has one at most, so that others go on beside one that takes long. */
const maxProcesses = 2

/** Most events that are handed over at a time. */
const maxTogether = 16

export interface Expressions {
  evaluate: Evaluate
  close(): void
}

interface Job {
  expression: string
  event: string
  end: (mapped: Mapped) => void
}

type Answer = { body: string } | { problem: string }

interface Evaluator {
  process: ChildProcess
  /** Those that it has, in their order. */
  jobs: Job[]
}

const failed = (problem: string): Mapped => mappingFailure(`expression: ${problem}`)

/** Processes begin with the first expression. */
export function createExpressions({ timeMs, memoryMb }: ExpressionLimits = defaultLimits): Expressions {
  /** What waits, by its expression, in the order of turns. As many wait as there are attempts under way. */
  const queues = new Map<string, Job[]>()
  const evaluators = new Set<Evaluator>()
  let isClosed = false

  /** What a process did not come to is evaluated by another one. Where it did not end by itself, its first job is at fault. */
  const onExit = (jobs: Job[], isAtFault: boolean): void => {
    if (isClosed) return
    if (isAtFault) jobs.shift()?.end(failed(`it takes more than ${memoryMb} MB of memory`))
    const [next] = jobs
    if (next !== undefined) queues.set(next.expression, [...jobs, ...(queues.get(next.expression) ?? [])])
    work()
  }

  const begin = (): Evaluator => {
    const path = fileURLToPath(new URL('./expression-process.js', import.meta.url))
    const child = fork(path, [String(timeMs), String(maxResultLength), unavailableFunctions.join()], {
      execArgv: [`--max-old-space-size=${memoryMb}`],
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const evaluator: Evaluator = { process: child, jobs: [] }
    child.on('message', (answer: Answer) => {
      evaluator.jobs.shift()?.end('body' in answer ? { kind: 'mapped', body: answer.body } : failed(answer.problem))
      if (evaluator.jobs.length === 0) work()
    })
    child.on('error', () => {
      if (child.pid !== undefined || !evaluators.delete(evaluator)) return
      for (const job of evaluator.jobs.splice(0)) job.end(failed('no process can be started for it'))
    })
    child.on('exit', (code) => {
      evaluators.delete(evaluator)
      onExit(evaluator.jobs, code !== 0)
    })
    evaluators.add(evaluator)
    return evaluator
  }

  /** Gives what waits to processes that are free, an expression after the other. */
  const work = (): void => {
    for (const [expression, waiting] of queues) {
      const busy = [...evaluators].filter(({ jobs }) => jobs.length > 0)
      if (busy.length >= maxProcesses) return
      if (busy.some(({ jobs }) => jobs[0]?.expression === expression)) continue
      const evaluator = [...evaluators].find(({ jobs }) => jobs.length === 0) ?? begin()
      evaluator.jobs = waiting.splice(0, maxTogether)
      queues.delete(expression)
      if (waiting.length > 0) queues.set(expression, waiting)
      evaluator.process.send(evaluator.jobs.map(({ event }) => ({ expression, event })))
    }
  }

  return {
    evaluate: (expression, event) =>
      new Promise((end) => {
        const waiting = queues.get(expression) ?? []
        waiting.push({ expression, event, end })
        queues.set(expression, waiting)
        work()
      }),
    close() {
      isClosed = true
      for (const { process } of evaluators) process.kill('SIGKILL')
    },
  }
}
