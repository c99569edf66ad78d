import { Alert, Text } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, type ReactNode } from 'react'
import type { MissingPart } from '../../../src/schemas/system.ts'
import { sentence } from '../shared/error-notice.tsx'
import { formatSpan, formatTime, useNow } from '../shared/time.tsx'
import { useConnection } from '../shared/use-connection.ts'

interface Texts {
  title: string
  consequence: string
}

const texts: Record<MissingPart['part'], Texts> = {
  temporal: {
    title: 'Temporal does not answer',
    consequence: 'Events are still accepted and wait in the inbox. Deliveries continue when it is back.',
  },
  database: {
    title: 'The database does not answer',
    consequence: 'Settings cannot be changed, and no event can be put into the inbox.',
  },
  worker: {
    title: 'No worker is running',
    consequence: 'Events are still accepted. Deliveries continue when a node with the role worker runs.',
  },
}

/** What it means where neither of the two that can hold an event answers. */
const consequencesOfBoth: Partial<Record<MissingPart['part'], string>> = {
  temporal: 'Deliveries continue when it is back.',
  database: 'Settings cannot be changed, and events are refused, which well-made clients send again.',
}

/** On every page: that the server, or something that it stands on, does not answer. All that is shown is read again when the
 *  server is back. */
export function ConnectionNotice() {
  const { isLost, answeredAt, missing } = useConnection()
  const client = useQueryClient()
  const wasLost = useRef(false)
  useEffect(() => {
    if (wasLost.current && !isLost) void client.invalidateQueries()
    wasLost.current = isLost
  }, [client, isLost])
  if (isLost) return <ServerGone answeredAt={answeredAt} />
  const isNoneLeft = (['temporal', 'database'] as const).every((wanted) => missing.some(({ part }) => part === wanted))
  return missing.map(({ part, reason, since }) => (
    <Notice key={part} color="orange" title={texts[part].title}>
      {(isNoneLeft && consequencesOfBoth[part]) || texts[part].consequence} Since {formatTime(since)}:{' '}
      {sentence(reason)}
    </Notice>
  ))
}

function ServerGone({ answeredAt }: { answeredAt: number }) {
  const age = useNow(1_000) - answeredAt
  return (
    <Notice color="red" title="Postrider does not answer">
      {answeredAt > 0 &&
        `What you see is from ${formatTime(answeredAt)}, ${formatSpan(age, { whole: true })} ago, and may have changed. `}
      The app tries again every few seconds. Leave this page open: it continues by itself.
    </Notice>
  )
}

function Notice({ color, title, children }: { color: string; title: string; children: ReactNode }) {
  return (
    <Alert role="status" color={color} mb="md" icon={<IconPlugConnectedX aria-hidden />} title={title}>
      <Text size="sm">{children}</Text>
    </Alert>
  )
}
