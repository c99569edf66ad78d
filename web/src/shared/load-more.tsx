import { Button, Center } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import { useEffect } from 'react'

interface Props {
  hasMore: boolean
  isLoading: boolean
  onMore: () => unknown
}

/** The end of an endless list: reads on when it comes into sight, or when it is pressed. */
export function LoadMore({ hasMore, isLoading, onMore }: Props) {
  const { ref, entry } = useIntersection({ rootMargin: '200px' })
  const isInSight = entry?.isIntersecting === true
  useEffect(() => {
    if (isInSight && hasMore && !isLoading) onMore()
  }, [isInSight, hasMore, isLoading, onMore])
  if (!hasMore) return null
  return (
    <Center ref={ref} py="md">
      <Button variant="default" loading={isLoading} onClick={() => onMore()}>
        Show more
      </Button>
    </Center>
  )
}
