import { Button, Center } from '@mantine/core'
import { useIntersection } from '@mantine/hooks'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { useEffect } from 'react'

interface Props {
  /** Reads the list page by page. */
  query: Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'isFetchNextPageError' | 'fetchNextPage'>
  /** Reads on by itself at the end of the page; else only when it is pressed. */
  isAutomatic?: boolean
}

/** The end of an endless list: reads on when it comes into sight, or when it is pressed. After a reading that failed only when it is
 *  pressed. */
export function LoadMore({ query, isAutomatic = true }: Props) {
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query
  const { ref, entry } = useIntersection({ rootMargin: '200px' })
  const isWanted = isAutomatic && !isFetchNextPageError && entry?.isIntersecting === true
  useEffect(() => {
    if (isWanted && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isWanted, hasNextPage, isFetchingNextPage, fetchNextPage])
  if (!hasNextPage) return null
  return (
    <Center ref={ref} py="md">
      <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show more
      </Button>
    </Center>
  )
}
