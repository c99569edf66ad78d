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

/** Most events that are handed over at a time. Starting the clock of a time limit costs as much as a small expression. */
const maxTogether = 32

export interface Expressions {
  evaluate: Evaluate
  close(): void
}

interface Job {
  expression: string
  event: string
  /** Whether it was with those of which one ended its process, by its time or its memory: it is handed over alone, to find out which. */
  isSuspect: boolean
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

  /** What a process did not answer is evaluated by another one, but for an event that ended it and was alone. */
  const onExit = (jobs: Job[], problem: string): void => {
    if (isClosed) return
    const [first] = jobs
    if (first === undefined) return
    if (jobs.length === 1 && first.isSuspect) first.end(failed(problem))
    else {
      for (const job of jobs) job.isSuspect = true
      queues.set(first.expression, [...jobs, ...(queues.get(first.expression) ?? [])])
    }
    work()
  }

  const begin = (): Evaluator => {
    const path = fileURLToPath(new URL('./expression-process.js', import.meta.url))
    const child = fork(path, [String(timeMs), String(maxResultLength), unavailableFunctions.join()], {
      execArgv: [`--max-old-space-size=${memoryMb}`],
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const evaluator: Evaluator = { process: child, jobs: [] }
    child.on('message', (answers: Answer[]) => {
      for (const answer of answers)
        evaluator.jobs.shift()?.end('body' in answer ? { kind: 'mapped', body: answer.body } : failed(answer.problem))
      if (evaluator.jobs.length === 0) work()
    })
    child.on('error', () => {
      if (child.pid !== undefined || !evaluators.delete(evaluator)) return
      for (const job of evaluator.jobs.splice(0)) job.end(failed('no process can be started for it'))
    })
    child.on('exit', (code) => {
      evaluators.delete(evaluator)
      onExit(
        evaluator.jobs,
        code === 0 ? `it takes longer than ${timeMs} ms` : `it takes more than ${memoryMb} MB of memory`,
      )
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
      evaluator.jobs = waiting.splice(0, waiting[0]?.isSuspect === true ? 1 : maxTogether)
      queues.delete(expression)
      if (waiting.length > 0) queues.set(expression, waiting)
      evaluator.process.send({ expression, events: `[${evaluator.jobs.map(({ event }) => event).join()}]` })
    }
  }

  return {
    evaluate: (expression, event) =>
      new Promise((end) => {
        const waiting = queues.get(expression) ?? []
        waiting.push({ expression, event, isSuspect: false, end })
        queues.set(expression, waiting)
        work()
      }),
    close() {
      isClosed = true
      for (const { process } of evaluators) process.kill('SIGKILL')
    },
  }
}
