import { Button, Center } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useEffect } from 'react'

interface Props {
  hasMore: boolean
  isLoading: boolean
  onMore: () => unknown
  /** Reads on by itself at the end of the page; else only when it is pressed. */
  isAutomatic?: boolean
  /** The last reading failed: the next one is the reader's. */
  hasFailed?: boolean
}

/** The end of an endless list: reads on when it comes into sight, or when it is pressed. */
export function LoadMore({ hasMore, isLoading, onMore, isAutomatic = true, hasFailed = false }: Props) {
  const { ref, entry } = useIntersection({ rootMargin: '200px' })
  const isWanted = isAutomatic && !hasFailed && entry?.isIntersecting === true
  useEffect(() => {
    if (isWanted && hasMore && !isLoading) onMore()
  }, [isWanted, hasMore, isLoading, onMore])
  if (!hasMore) return null
  return (
    <Center ref={ref} py="md">
      <Button variant="default" loading={isLoading} onClick={() => onMore()}>
        Show more
      </Button>
    </Center>
  )
}
