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

/** A change on the server: says how it went and reads again what it made stale. That it failed may mean that only its answer was lost, or that
 *  others were faster: this is read, too. */
export function useChange<Answer, Input = void>({
  key,
  change,
  stale,
  done,
  onDone,
  onFailed,
}: Options<Input, Answer>) {
  const client = useQueryClient()
  const readAgain = () =>
    Promise.all([...stale, 'onboarding', 'audit-log'].map((key) => client.invalidateQueries({ queryKey: [key] })))
  return useMutation({
    ...(key !== undefined && { mutationKey: key }),
    mutationFn: change,
    onSuccess: async (answer, input) => {
      await onDone?.(answer, input)
      if (done !== undefined) notifications.show({ message: done, color: 'teal' })
      await readAgain()
    },
    onError: (error) => {
      if (onFailed !== undefined) onFailed(error)
      else notifications.show({ title: 'This did not work', message: explain(error), color: 'red' })
      void readAgain()
    },
  })
}
