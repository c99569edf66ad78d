import { Alert, Text } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, type ReactNode } from 'react'
import type { MissingPart } from '../../../src/schemas/system.ts'
import { formatSpan, formatTime, useNow } from '../shared/time.tsx'
import { useConnection } from '../shared/use-connection.ts'

const texts: Record<MissingPart['part'], { title: string; consequence: string }> = {
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
  return missing.map(({ part, reason, since }) => (
    <Notice key={part} color="orange" title={texts[part].title}>
      {texts[part].consequence} Since {formatTime(since)}: {reason}
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
