import { Button, Group, Text } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useIsMutating, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { confirm } from './confirm.tsx'
import { Section } from './section.tsx'
import { useChange } from './use-change.ts'

interface Props {
  /** What kind of thing it is, as in `source`. */
  noun: string
  name: string
  /** What deleting it means, and what may be done instead. */
  note: string
  /** What the question says; the note unless given. */
  warning?: ReactNode
  remove: () => Promise<unknown>
  /** Queries that are stale without it, and the page that lists what is left. */
  stale: string[]
  list: '/sources' | '/destinations' | '/audiences'
  /** What is to be chosen before. */
  children?: ReactNode
}

const deletion = ['delete']

/** Whether what the page shows is being deleted: it asks for no more news of it. */
export const useIsDeleting = (): boolean => useIsMutating({ mutationKey: deletion }) > 0

/** Deletes what a page shows, once that is confirmed, and goes back to the list. */
export function DeleteSection({ noun, name, note, warning = note, remove, stale, list, children }: Props) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const change = useChange({
    key: deletion,
    change: async () => {
      await Promise.all(stale.map((key) => client.cancelQueries({ queryKey: [key] })))
      return remove()
    },
    stale,
    done: `${name} is deleted`,
    // What was edited on the page is gone with it.
    onDone: () => navigate({ to: list, ignoreBlocker: true }),
  })
  return (
    <Section title="Delete">
      {children}
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={520}>
          {note}
        </Text>
        <Button
          color="red"
          variant="light"
          leftSection={<IconTrash size={16} aria-hidden />}
          loading={change.isPending}
          onClick={() =>
            confirm({
              title: `Delete ${name}?`,
              text: warning,
              yes: `Delete the ${noun}`,
              onYes: () => change.mutate(),
            })
          }
        >
          Delete {noun}
        </Button>
      </Group>
    </Section>
  )
}
