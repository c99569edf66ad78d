import { Tabs, Text } from '@mantine/core'
import { CodeBlock } from '../../shared/copy.tsx'

interface Snippet {
  name: string
  hint?: string
  code: (server: string, writeKey: string) => string
}

/** Ready to paste: the address of this server and the write key are filled in. */
const snippets: Snippet[] = [
  {
    name: 'curl',
    code: (server, writeKey) =>
      [
        `curl ${server}/v1/track -u ${writeKey}: \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"userId":"user-1","event":"Order Completed","properties":{"total":12.5}}'`,
      ].join('\n'),
  },
  {
    name: 'Node',
    hint: 'npm install @postrider/analytics',
    code: (server, writeKey) =>
      [
        `import { Analytics } from '@postrider/analytics'`,
        ``,
        `const analytics = new Analytics('${writeKey}', { endpoint: '${server}' })`,
        ``,
        `analytics.identify({ userId: 'user-1', traits: { plan: 'pro' } })`,
        `analytics.track({ userId: 'user-1', event: 'Order Completed', properties: { total: 12.5 } })`,
        ``,
        `await analytics.close()`,
      ].join('\n'),
  },
  {
    name: 'Browser',
    hint: 'npm install @postrider/analytics',
    code: (server, writeKey) =>
      [
        `import { Analytics } from '@postrider/analytics'`,
        ``,
        `const analytics = new Analytics('${writeKey}', { endpoint: '${server}' })`,
        `const anonymousId = (localStorage.visitor ??= crypto.randomUUID())`,
        ``,
        `analytics.page({ anonymousId, properties: { path: location.pathname, title: document.title } })`,
      ].join('\n'),
  },
  {
    name: 'Go',
    hint: 'Any Segment-compatible Go library',
    code: (server, writeKey) =>
      [
        `client := analytics.New("${writeKey}")`,
        `client.Endpoint = "${server}"`,
        ``,
        `client.Track(&analytics.Track{`,
        `  UserId:     "user-1",`,
        `  Event:      "Order Completed",`,
        `  Properties: map[string]interface{}{"total": 12.5},`,
        `})`,
      ].join('\n'),
  },
  {
    name: 'Python',
    hint: 'pip install segment-analytics-python',
    code: (server, writeKey) =>
      [
        `import segment.analytics as analytics`,
        ``,
        `analytics.write_key = '${writeKey}'`,
        `analytics.host = '${server}'`,
        ``,
        `analytics.track('user-1', 'Order Completed', {'total': 12.5})`,
        `analytics.flush()`,
      ].join('\n'),
  },
]

export function Snippets({ writeKey }: { writeKey: string }) {
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List mb="sm">
        {snippets.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ name, hint, code }) => (
        <Tabs.Panel key={name} value={name}>
          {hint !== undefined && (
            <Text size="sm" c="dimmed" mb="xs">
              {hint}
            </Text>
          )}
          <CodeBlock name={`${name} snippet`} value={code(window.location.origin, writeKey)} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
