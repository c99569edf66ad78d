import { Tabs, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Status } from '../../../../src/schemas/system.ts'
import { statusQuery } from '../../api/system.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { QueryView } from '../../shared/query-view.tsx'

interface Snippet {
  name: string
  hint?: string
  code: (server: string, writeKey: string) => string
}

/** Ready to paste: the address at which this server takes events and the write key are filled in. */
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
    hint: 'This server offers the library for installing. Save the code as a file that ends in .mjs.',
    code: (server, writeKey) =>
      [
        `// npm install ${server}/client.tgz`,
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
    hint: 'In the head of each page. A page that is bundled can install the library instead, as for Node.',
    code: (server, writeKey) =>
      [
        `<script src="${server}/client.js"></script>`,
        `<script>`,
        `  const options = { endpoint: '${server}', remember: true, autoPage: true }`,
        `  const analytics = new Postrider.Analytics('${writeKey}', options)`,
        `</script>`,
      ].join('\n'),
  },
  {
    name: 'Go',
    hint: 'In a new folder first: go mod init example && go get gopkg.in/segmentio/analytics-go.v3',
    code: (server, writeKey) =>
      [
        `package main`,
        ``,
        `import "gopkg.in/segmentio/analytics-go.v3"`,
        ``,
        `func main() {`,
        `	client, err := analytics.NewWithConfig("${writeKey}", analytics.Config{Endpoint: "${server}"})`,
        `	if err != nil {`,
        `		panic(err)`,
        `	}`,
        `	defer client.Close()`,
        `	client.Enqueue(analytics.Track{`,
        `		UserId:     "user-1",`,
        `		Event:      "Order Completed",`,
        `		Properties: analytics.NewProperties().Set("total", 12.5),`,
        `	})`,
        `}`,
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
  {
    name: 'Kotlin',
    hint: 'implementation("com.segment.analytics.kotlin:android:+"). The library speaks HTTPS only.',
    code: (server, writeKey) =>
      [
        `import com.segment.analytics.kotlin.android.Analytics`,
        `import kotlinx.serialization.json.buildJsonObject`,
        `import kotlinx.serialization.json.put`,
        ``,
        `val analytics = Analytics("${writeKey}", applicationContext) {`,
        `    apiHost = "${hostOf(server)}/v1"`,
        `    cdnHost = "${hostOf(server)}/v1"`,
        `}`,
        ``,
        `analytics.identify("user-1")`,
        `analytics.track("Order Completed", buildJsonObject { put("total", 12.5) })`,
      ].join('\n'),
  },
  {
    name: 'Swift',
    hint: 'Swift package: https://github.com/segmentio/analytics-swift. The library speaks HTTPS only.',
    code: (server, writeKey) =>
      [
        `import Segment`,
        ``,
        `let analytics = Analytics(`,
        `    configuration: Configuration(writeKey: "${writeKey}")`,
        `        .apiHost("${hostOf(server)}/v1")`,
        `        .cdnHost("${hostOf(server)}/v1"))`,
        ``,
        `analytics.identify(userId: "user-1")`,
        `analytics.track(name: "Order Completed", properties: ["total": 12.5])`,
      ].join('\n'),
  },
]

const hostOf = (server: string): string => new URL(server).host

/** Where sources send. The app may have a port or a host of its own. */
function ingestAddress({ ingestUrl, ingestPort }: Status): string {
  if (ingestUrl !== null) return ingestUrl
  const url = new URL(window.location.origin)
  if (ingestPort !== null) url.port = String(ingestPort)
  return url.origin
}

export function Snippets({ writeKey }: { writeKey: string }) {
  const status = useQuery(statusQuery)
  return (
    <QueryView query={status}>{(known) => <SnippetTabs server={ingestAddress(known)} writeKey={writeKey} />}</QueryView>
  )
}

function SnippetTabs({ server, writeKey }: { server: string; writeKey: string }) {
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
          <CodeBlock name={`${name} snippet`} value={code(server, writeKey)} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
