import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { explain } from './error-notice.tsx'

interface Options<Input, Answer> {
  /** By which others on the page know that it is under way. */
  key?: readonly string[]
  change: (input: Input) => Promise<Answer>
  /** Queries that the change makes stale, by the first part of their keys. */
  stale: string[]
  /** Called when the change was made. */
  done?: string
  /** What it waits for comes before reading again: a page that is left reads nothing any more. */
  onDone?: (answer: Answer, input: Input) => void | Promise<void>
  /** Shows the error in a place of its own instead of a notification. */
  onFailed?: (error: Error) => void
}

/** A change on the server: says how it went and reads again what it made stale. */
export function useChange<Answer, Input = void>({
  key,
  change,
  stale,
  done,
  onDone,
  onFailed,
}: Options<Input, Answer>) {
  const client = useQueryClient()
  return useMutation({
    ...(key !== undefined && { mutationKey: key }),
    mutationFn: change,
    onSuccess: async (answer, input) => {
      await onDone?.(answer, input)
      if (done !== undefined) notifications.show({ message: done, color: 'teal' })
      const keys = [...stale, 'onboarding', 'audit-log']
      await Promise.all(keys.map((key) => client.invalidateQueries({ queryKey: [key] })))
    },
    onError:
      onFailed ??
      ((error) => notifications.show({ title: 'This did not work', message: explain(error), color: 'red' })),
  })
}
