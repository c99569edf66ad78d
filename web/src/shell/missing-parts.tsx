import { Alert, Text } from '@mantine/core'
import { IconPlugConnectedX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { MissingPart } from '../../../src/schemas/system.ts'
import { statusQuery } from '../api/system.ts'
import { formatTime } from '../shared/time.tsx'

const texts: Record<MissingPart['part'], { name: string; consequence: string }> = {
  temporal: {
    name: 'Temporal',
    consequence: 'Events are taken and wait in the inbox; deliveries go on when it is back.',
  },
  database: { name: 'The database', consequence: 'Settings cannot be changed, and the inbox takes no events.' },
}

/** On every page, while something that the node stands on does not answer. */
export function MissingParts() {
  const missing = useQuery(statusQuery).data?.missing ?? []
  return missing.map(({ part, reason, since }) => (
    <Alert
      key={part}
      role="status"
      color="orange"
      mb="md"
      icon={<IconPlugConnectedX aria-hidden />}
      title={`${texts[part].name} does not answer`}
    >
      <Text size="sm">
        {texts[part].consequence} Since {formatTime(since)}: {reason}
      </Text>
    </Alert>
  ))
}
