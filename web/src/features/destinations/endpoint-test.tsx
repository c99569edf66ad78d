import { Alert, Button, Group, Select, Stack } from '@mantine/core'
import { IconSend } from '@tabler/icons-react'
import { useState } from 'react'
import type { MessageType } from '../../../../src/schemas/message.ts'
import { testDestination } from '../../api/destinations.ts'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { messageTypes } from '../../shared/message-types.ts'
import { useChange } from '../../shared/use-change.ts'
import { TestResult } from './test-result.tsx'

/** Sends a real sample event to every endpoint and shows what was sent and answered. */
export function EndpointTestPanel({ destinationId }: { destinationId: string }) {
  const [type, setType] = useState<MessageType>('track')
  const test = useChange({ change: () => testDestination(destinationId, type), stale: [], onFailed: () => {} })
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <Select
          label="Type of the sample event"
          data={messageTypes}
          value={type}
          onChange={(value) => setType(value as MessageType)}
          allowDeselect={false}
          w={200}
        />
        <Button loading={test.isPending} leftSection={<IconSend size={16} aria-hidden />} onClick={() => test.mutate()}>
          Send a test event
        </Button>
      </Group>
      {test.error !== null && <ErrorNotice error={test.error} title="The test has no result" />}
      <Stack gap="sm" aria-live="polite">
        {test.data?.results.map((result) => (
          <TestResult key={result.endpointId} result={result} />
        ))}
        {test.data?.results.length === 0 && (
          <Alert color="yellow">There is no endpoint yet: enter a URL, save, and test again.</Alert>
        )}
      </Stack>
    </Stack>
  )
}
