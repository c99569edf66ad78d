/** Receivers that answer, hang or refuse connections, as the bench tells them. */

import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** `hangs`: takes requests and never answers; `refuses`: takes no connections. */
export type Conduct = 'answers' | 'hangs' | 'refuses'

/** Requests to paths that begin so are never answered, whatever their receiver does otherwise. */
export const hangingPath = '/hangs'

/** An event that was answered 200. */
export interface Taken {
  messageId: string
  /** Of the first time, in milliseconds since 1970. */
  at: number
  times: number
}

export interface Receiver {
  port: number
  url: string
  become(conduct: Conduct): Promise<void>
  /** What it answered 200. */
  taken(): Promise<Taken[]>
  /** Resolves when it has answered so many events 200. @throws Error when they do not come in time */
  hasTaken(count: number, limitMs: number): Promise<void>
}

export interface Receivers {
  open(conduct: Conduct): Promise<Receiver>
  stop(): void
}

export type ReceiverOrder = { nr: number; name: string } & (
  { kind: 'become'; conduct: Conduct } | { kind: 'count' } | { kind: 'read' }
)

export interface ReceiverAnswer {
  nr: number
  result: unknown
}

type OrderOf = ReceiverOrder extends infer Order ? (Order extends unknown ? Omit<Order, 'nr' | 'name'> : never) : never

const lookPauseMs = 50

export function startReceivers(): Receivers {
  const child = fork(new URL('./receiver-process.ts', import.meta.url))
  const asked = new Map<number, (result: unknown) => void>()
  let orders = 0
  let opened = 0
  child.on('message', ({ nr, result }: ReceiverAnswer) => asked.get(nr)?.(result))

  const order = <Result>(name: string, what: OrderOf): Promise<Result> => {
    const nr = orders++
    child.send({ ...what, nr, name })
    return new Promise((resolve) => {
      asked.set(nr, (result) => {
        asked.delete(nr)
        resolve(result as Result)
      })
    })
  }

  return {
    async open(conduct) {
      const name = `receiver ${opened++}`
      const port = await order<number>(name, { kind: 'become', conduct })
      return {
        port,
        url: `http://127.0.0.1:${port}/`,
        become: (next) => order(name, { kind: 'become', conduct: next }),
        taken: () => order(name, { kind: 'read' }),
        async hasTaken(count, limitMs) {
          const deadline = performance.now() + limitMs
          for (let taken = 0; taken < count; taken = await order<number>(name, { kind: 'count' })) {
            if (performance.now() > deadline) throw new Error(`${taken} of ${count} were taken within ${limitMs} ms`)
            await sleep(lookPauseMs)
          }
        },
      }
    },
    stop: () => child.disconnect(),
  }
}
