import { Select, Stack, Tabs, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { DeliveryDetail } from '../../../../src/schemas/delivery.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { curlCommand } from './curl-command.ts'

/** The body and the headers that endpoints get, and a command that repeats the request. */
export function SentRequest({ delivery }: { delivery: DeliveryDetail }) {
  const destinations = (useQuery(destinationsQuery).data ?? []).filter(({ id }) => delivery.destinationIds.includes(id))
  const endpoints = destinations.flatMap(({ settings }) =>
    settings.webhooks.map((webhook) => ({ ...webhook, isSigned: settings.hasSharedSecret })),
  )
  const [chosen, setChosen] = useState<string | null>(null)
  const endpoint = endpoints.find(({ id }) => id === chosen) ?? endpoints[0]
  const body = JSON.stringify(delivery.message)
  const headers: Record<string, string> = {
    'User-Agent': 'Postrider/1.0',
    'Content-Type': 'application/json',
    ...endpoint?.headers,
  }
  return (
    <Stack>
      {endpoints.length > 1 && (
        <Select
          label="Endpoint"
          data={endpoints.map(({ id, url }) => ({ value: id, label: url }))}
          value={endpoint?.id ?? null}
          onChange={setChosen}
          allowDeselect={false}
          maw={520}
        />
      )}
      <Tabs defaultValue="body" keepMounted={false}>
        <Tabs.List mb="sm">
          <Tabs.Tab value="body">Body</Tabs.Tab>
          <Tabs.Tab value="formatted">Formatted</Tabs.Tab>
          <Tabs.Tab value="headers">Headers</Tabs.Tab>
          <Tabs.Tab value="curl">curl</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="body">
          <CodeBlock name="body" value={body} />
          <Text size="xs" c="dimmed" mt="xs">
            These bytes are sent, the same in every attempt.
          </Text>
        </Tabs.Panel>
        <Tabs.Panel value="formatted">
          <CodeBlock name="formatted body" value={JSON.stringify(delivery.message, null, 2)} />
        </Tabs.Panel>
        <Tabs.Panel value="headers">
          <CodeBlock
            name="headers"
            value={Object.entries(headers)
              .map(([name, value]) => `${name}: ${value}`)
              .join('\n')}
          />
          {endpoint?.isSigned === true && <SignatureNote />}
        </Tabs.Panel>
        <Tabs.Panel value="curl">
          {endpoint === undefined ? (
            <Text c="dimmed">Its endpoints are gone.</Text>
          ) : (
            <CodeBlock
              name="curl command"
              value={curlCommand({ url: endpoint.url, headers, body, isSigned: endpoint.isSigned })}
            />
          )}
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

const SignatureNote = () => (
  <Text size="sm" c="dimmed" mt="xs">
    X-Signature follows from the body and the shared secret, which is shown nowhere.
  </Text>
)
