import { Select, Stack, Tabs, Text } from '@mantine/core'
import { useState } from 'react'
import type { DeliveryDetail } from '../../../../src/schemas/delivery.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { curlCommand } from './curl-command.ts'

/** The body and the headers that endpoints get with the settings of now, and a command that repeats the request. */
export function SentRequest({ delivery }: { delivery: DeliveryDetail }) {
  const { body, requests } = delivery
  if (body === null) return <Text c="dimmed">The user was deleted, and what this event held was erased.</Text>
  return <OpenRequest event={body} requests={requests} />
}

function OpenRequest({ event, requests }: Pick<DeliveryDetail, 'requests'> & { event: string }) {
  const [chosen, setChosen] = useState<string | null>(null)
  const request = requests.find(({ endpointId }) => endpointId === chosen) ?? requests[0]
  // Of endpoints that are gone nothing is known but the event.
  const body = request === undefined ? event : request.body
  return (
    <Stack>
      {requests.length > 1 && (
        <Select
          label="Endpoint"
          data={requests.map(({ endpointId, url }) => ({ value: endpointId, label: url }))}
          value={request?.endpointId ?? null}
          onChange={setChosen}
          allowDeselect={false}
          maw={520}
        />
      )}
      <Tabs defaultValue="formatted" keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="formatted">Formatted</Tabs.Tab>
          <Tabs.Tab value="body">Body</Tabs.Tab>
          <Tabs.Tab value="headers">Headers</Tabs.Tab>
          <Tabs.Tab value="curl">curl</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="body">
          {body === null ? (
            <NotMapped />
          ) : (
            <>
              <CodeBlock name="body" value={body} />
              <Text size="xs" c="dimmed" mt="xs">
                {request === undefined
                  ? 'The event as it came in; its endpoints have been deleted.'
                  : 'These bytes are sent, the same in every attempt.'}
              </Text>
            </>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="formatted">
          {body === null ? <NotMapped /> : <CodeBlock name="formatted body" value={formatted(body)} />}
        </Tabs.Panel>
        <Tabs.Panel value="headers">
          {request === undefined ? (
            <EndpointsGone />
          ) : body === null ? (
            <NotMapped />
          ) : (
            <>
              <CodeBlock
                name="headers"
                value={[
                  `${request.method ?? 'POST'} ${new URL(request.url).pathname}`,
                  ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
                ].join('\n')}
              />
              <Text size="xs" c="dimmed" mt="xs">
                As the current settings make them, signed for the time of the last attempt. What was sent stands under
                each attempt.
              </Text>
            </>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="curl">
          {request === undefined ? (
            <EndpointsGone />
          ) : body === null ? (
            <NotMapped />
          ) : (
            <CodeBlock name="curl command" value={curlCommand({ ...request, body })} />
          )}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

/** JSON with indents, or a form with a line for each field. */
const formatted = (body: string): string =>
  body.startsWith('{')
    ? JSON.stringify(JSON.parse(body), null, 2)
    : [...new URLSearchParams(body)].map(([name, value]) => `${name} = ${value}`).join('\n')

const NotMapped = () => <Text c="dimmed">Nothing is sent: the mapping of the destination cannot be applied.</Text>

const EndpointsGone = () => <Text c="dimmed">Its endpoints have been deleted.</Text>
