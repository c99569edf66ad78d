import { Accordion, Alert, Badge, Button, Group, Select, Stack, Text } from '@mantine/core'
import { IconCheck, IconSend, IconX } from '@tabler/icons-react'
import { useState } from 'react'
import type { EndpointTest } from '../../../../src/schemas/endpoint-test.ts'
import type { MessageType } from '../../../../src/schemas/message.ts'
import { testDestination } from '../../api/destinations.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { formatSpan } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'

const types: MessageType[] = ['track', 'identify', 'page', 'screen', 'group', 'alias', 'delete']

type Result = EndpointTest['results'][number]

/** Sends a real sample event to every endpoint and shows what was sent and answered. */
export function EndpointTestPanel({ destinationId }: { destinationId: string }) {
  const [type, setType] = useState<MessageType>('track')
  const test = useChange({ change: () => testDestination(destinationId, type), stale: [], onFailed: () => {} })
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <Select
          label="Type of the sample event"
          data={types}
          value={type}
          onChange={(value) => setType(value as MessageType)}
          allowDeselect={false}
          w={200}
        />
        <Button loading={test.isPending} leftSection={<IconSend size={16} aria-hidden />} onClick={() => test.mutate()}>
          Send a test event
        </Button>
      </Group>
      {test.error !== null && <ErrorNotice error={test.error} title="No test was sent" />}
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

function TestResult({ result }: { result: Result }) {
  const { url, outcome, status, durationMs, error, excerpt, request } = result
  const isDelivered = outcome === 'delivered'
  return (
    <Alert
      color={isDelivered ? 'teal' : 'red'}
      icon={isDelivered ? <IconCheck aria-hidden /> : <IconX aria-hidden />}
      title={isDelivered ? 'The endpoint took the event' : 'The endpoint did not take the event'}
    >
      <Stack gap="xs">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {url}
        </Text>
        <Group gap="xs">
          {status !== undefined && <Badge variant="default">HTTP {status}</Badge>}
          <Badge variant="default">{formatSpan(durationMs)}</Badge>
        </Group>
        {error !== undefined && (
          <Text size="sm" fw={600}>
            {error}
            {outcome === 'unavailable' && ' An event of yours would be tried again.'}
          </Text>
        )}
        <Accordion variant="contained">
          <Accordion.Item value="request">
            <Accordion.Control>What was sent{excerpt === undefined ? '' : ' and answered'}</Accordion.Control>
            <Accordion.Panel>
              <Stack gap="xs">
                <CodeBlock name="headers sent" value={headerLines(request.headers)} />
                <CodeBlock name="body sent" value={request.body} />
                {excerpt !== undefined && <CodeBlock name="answer" value={excerpt} />}
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
      </Stack>
    </Alert>
  )
}

const headerLines = (headers: Record<string, string>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
