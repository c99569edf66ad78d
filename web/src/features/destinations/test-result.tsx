import { Accordion, Alert, Badge, Group, Stack, Text } from '@mantine/core'
import { IconCheck, IconX } from '@tabler/icons-react'
import type { EndpointTest } from '../../../../src/schemas/endpoint-test.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { formatSpan } from '../../shared/time.tsx'

/** What came of a sample event: what was sent and what was answered. */
export function TestResult({ result }: { result: EndpointTest['results'][number] }) {
  const { url, outcome, status, durationMs, error, excerpt, request } = result
  const isDelivered = outcome === 'delivered'
  return (
    <Alert
      color={isDelivered ? 'teal' : 'red'}
      icon={isDelivered ? <IconCheck aria-hidden /> : <IconX aria-hidden />}
      title={isDelivered ? 'The endpoint accepted the event' : 'The endpoint did not accept the event'}
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
            {outcome === 'unavailable' && ' A real event would be tried again.'}
            {outcome === 'rejected' && ' A real event would not be tried again.'}
          </Text>
        )}
        <Accordion variant="contained">
          <Accordion.Item value="request">
            <Accordion.Control>What was sent{excerpt === undefined ? '' : ', and the answer'}</Accordion.Control>
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
