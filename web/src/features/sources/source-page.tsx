import { Alert, Badge, Button, Group, Stack, Switch, Text, TextInput } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import type { Source, SourcePatch } from '../../../../src/schemas/source.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { changeSource, deleteSource, rotateWriteKey, sourceQuery } from '../../api/sources.ts'
import { confirm } from '../../shared/confirm.tsx'
import { CopyTextButton } from '../../shared/copy.tsx'
import { DeleteSection } from '../../shared/delete-section.tsx'
import { ButtonLink, Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { LiveEvents } from './live-events.tsx'
import { Snippets } from './snippets.tsx'

export function SourcePage() {
  const { id } = useParams({ from: '/shell/sources/$id' })
  const query = useQuery(sourceQuery(id))
  return <QueryView query={query}>{(source) => <SourceView key={id} source={source} />}</QueryView>
}

function SourceView({ source }: { source: Source }) {
  const canChange = useCanChange()
  const change = useChange({ change: (patch: SourcePatch) => changeSource(source.id, patch), stale: ['sources'] })
  return (
    <>
      <PageHeader
        title={source.name}
        badge={
          source.enabled ? (
            <Badge color="teal" variant="light">
              On
            </Badge>
          ) : (
            <Badge variant="default">Off</Badge>
          )
        }
        actions={
          <>
            <ButtonLink to="/deliveries" search={{ sourceId: source.id }} variant="default">
              Deliveries
            </ButtonLink>
            {canChange && (
              <Switch
                label="On"
                checked={source.enabled}
                disabled={change.isPending}
                onChange={({ currentTarget }) => change.mutate({ enabled: currentTarget.checked })}
              />
            )}
          </>
        }
      />
      <Stack gap="lg">
        {!source.enabled && (
          <Alert color="yellow" title="Switched off">
            Events with this write key are refused. Switch it on to take them again.
          </Alert>
        )}
        <WriteKey source={source} canChange={canChange} />
        <Section title="Live events">
          <LiveEvents sourceId={source.id} />
        </Section>
        <Section title="Send events">
          <Snippets writeKey={canChange ? source.writeKey : 'YOUR_WRITE_KEY'} />
        </Section>
        <ConnectedDestinations sourceId={source.id} />
        {canChange && (
          <DeleteSection
            noun="source"
            name={source.name}
            note="Its write key stops working for good. To stop taking events for a while, switch it off instead."
            warning="Events with its write key are refused from then on. This cannot be undone."
            remove={() => deleteSource(source.id)}
            stale={['sources']}
            list="/sources"
          />
        )}
      </Stack>
    </>
  )
}

function WriteKey({ source: { id, writeKey }, canChange }: { source: Source; canChange: boolean }) {
  const rotate = useChange({
    change: () => rotateWriteKey(id),
    stale: ['sources'],
    done: 'A new write key is in force',
  })
  return (
    <Section title="Write key">
      {canChange ? (
        <Group align="flex-end" gap="xs">
          <TextInput
            aria-label="Write key"
            readOnly
            value={writeKey}
            ff="monospace"
            style={{ flex: '1 1 16rem' }}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
          <CopyTextButton value={writeKey} name="write key" />
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} aria-hidden />}
            loading={rotate.isPending}
            onClick={() =>
              confirm({
                title: 'Replace the write key?',
                text: 'The present key stops working at once: events of programs that still use it are refused.',
                yes: 'Replace it',
                onYes: () => rotate.mutate(),
              })
            }
          >
            Rotate
          </Button>
        </Group>
      ) : (
        <Text size="sm" c="dimmed">
          Write keys are shown to administrators alone.
        </Text>
      )}
    </Section>
  )
}

function ConnectedDestinations({ sourceId }: { sourceId: string }) {
  const query = useQuery(destinationsQuery)
  return (
    <Section title="Destinations">
      <QueryView query={query}>
        {(destinations) => {
          const connected = destinations.filter(({ sourceIds }) => sourceIds.includes(sourceId))
          if (connected.length === 0)
            return (
              <Text size="sm">
                None: events are taken, but go nowhere. <Link to="/catalog">Connect a destination</Link>
              </Text>
            )
          return (
            <Stack gap={4}>
              {connected.map(({ id, name }) => (
                <Link key={id} to="/destinations/$id" params={{ id }}>
                  {name}
                </Link>
              ))}
            </Stack>
          )
        }}
      </QueryView>
    </Section>
  )
}
