import { useEffect, useRef, useState } from 'react'
import type { LiveEvent } from '../../../../src/schemas/live-event.ts'
import { liveEventsRefusal, liveEventsUrl } from '../../api/sources.ts'

/** Most events that stay on the page; older ones make room. */
export const maxLiveEvents = 500

/** How often what came in is shown, in milliseconds: a page cannot draw every one of thousands a second. */
const showEveryMs = 200

/** How soon a stream that was refused is asked for again, in milliseconds. */
const openAgainMs = 3_000

export interface LiveEventRow extends LiveEvent {
  /** Order of arrival. */
  number: number
}

interface LiveEvents {
  /** Newest first. */
  events: LiveEventRow[]
  /** Events that came in while the page listened. */
  received: number
  /** Events that the server could not show, because more came in than a stream holds. */
  missed: number
  isConnected: boolean
  /** Why the server sends none. */
  refusal: Error | undefined
  clear: () => void
}

/** Incoming events of a source as they come, while not paused. */
export function useLiveEvents(sourceId: string, isPaused: boolean): LiveEvents {
  const [events, setEvents] = useState<LiveEventRow[]>([])
  const [received, setReceived] = useState(0)
  const [missed, setMissed] = useState(0)
  const [isConnected, setConnected] = useState(false)
  const [refusal, setRefusal] = useState<Error>()
  const [tries, setTries] = useState(0)
  const number = useRef(0)

  useEffect(() => {
    if (isPaused) return
    let waiting: LiveEventRow[] = []
    const stream = new EventSource(liveEventsUrl(sourceId))
    let again: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    stream.onopen = () => {
      setConnected(true)
      setRefusal(undefined)
    }
    stream.onerror = () => {
      setConnected(false)
      // After an error's answer, a browser does not come again by itself.
      if (stream.readyState !== EventSource.CLOSED) return
      again ??= setTimeout(() => setTries(tries + 1), openAgainMs)
      void liveEventsRefusal(sourceId).then((reason) => !isOver && setRefusal(reason))
    }
    stream.onmessage = ({ data }: MessageEvent<string>) => {
      waiting.unshift({ ...(JSON.parse(data) as LiveEvent), number: ++number.current })
      waiting.length = Math.min(waiting.length, maxLiveEvents)
    }
    stream.addEventListener('dropped', ({ data }: MessageEvent<string>) => {
      const { dropped } = JSON.parse(data) as { dropped: number }
      setMissed((before) => before + dropped)
    })
    const timer = setInterval(() => {
      if (waiting.length === 0) return
      const fresh = waiting
      waiting = []
      setReceived(number.current)
      setEvents((shown) => [...fresh, ...shown].slice(0, maxLiveEvents))
    }, showEveryMs)
    return () => {
      isOver = true
      stream.close()
      clearTimeout(again)
      clearInterval(timer)
      setConnected(false)
    }
  }, [sourceId, isPaused, tries])

  return { events, received, missed, isConnected, refusal, clear: () => setEvents([]) }
}
