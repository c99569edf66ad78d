import { useEffect, useRef } from 'react'

/** Tabs of a browser that may show live events at a time. Each keeps a connection, of which a browser has six to one server, and what
 *  else all tabs ask needs some. */
export const streamPlaces = 3

const channelName = 'postrider-live-events'

interface News {
  tab: number
  isOpen: boolean
}

/** Gives the place of a stream to tabs that were opened later.
 *  @param isOpen  whether this tab has one
 *  @param onLost  called when so many others took one since */
export function useStreamPlace(isOpen: boolean, onLost: () => void): void {
  const lost = useRef(onLost)
  useEffect(() => {
    lost.current = onLost
  })
  useEffect(() => {
    if (!isOpen) return
    const tab = Math.random()
    const later = new Set<number>()
    const channel = new BroadcastChannel(channelName)
    const tell = (isOpen: boolean): void => channel.postMessage({ tab, isOpen } satisfies News)
    const leave = (): void => tell(false)
    channel.onmessage = ({ data }: MessageEvent<News>) => {
      if (data.isOpen) later.add(data.tab)
      else later.delete(data.tab)
      if (later.size === streamPlaces) lost.current()
    }
    tell(true)
    window.addEventListener('pagehide', leave)
    return () => {
      window.removeEventListener('pagehide', leave)
      leave()
      channel.close()
    }
  }, [isOpen])
}
