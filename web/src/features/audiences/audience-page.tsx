import { Badge, Button, Checkbox, Code, Stack } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconRefresh } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Audience } from '../../../../src/schemas/audience.ts'
import { audienceQuery, deleteAudience, setAudiencePaused, startSync } from '../../api/audiences.ts'
import { whileThere } from '../../api/query-client.ts'
import type { Tagged } from '../../api/request.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { confirm } from '../../shared/confirm.tsx'
import { DeleteSection, useIsDeleting } from '../../shared/delete-section.tsx'
import { Fact, Facts } from '../../shared/facts.tsx'
import { Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { Section } from '../../shared/section.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { inPercent } from './audience-form.ts'
import { describeMembership, describeSchedule } from './describe.ts'
import { EditAudience } from './edit-audience.tsx'
import { Members } from './members.tsx'
import { NextSync } from './next-sync.tsx'
import { SyncHistory } from './sync-history.tsx'

/** As often as its members and syncs: what stands beside each other is of one moment. */
const refreshMs = 2_000

export function AudiencePage() {
  const { id } = useParams({ from: '/shell/audiences/$id' })
  const isDeleting = useIsDeleting()
  const query = useQuery({ ...audienceQuery(id), refetchInterval: !isDeleting && whileThere(refreshMs) })
  return <QueryView query={query}>{(audience) => <AudienceView key={id} tagged={audience} />}</QueryView>
}

function AudienceView({ tagged }: { tagged: Tagged<Audience> }) {
  const audience = tagged.answer
  const canChange = useCanChange()
  return (
    <>
      <PageHeader
        title={audience.name}
        badge={<Badge variant="default">{audience.kind === 'trait' ? 'Computed trait' : 'Audience'}</Badge>}
        actions={canChange && <Steering audience={audience} />}
      />
      <Stack gap="lg">
        <AudienceFacts audience={audience} />
        {canChange && (
          <Section title="Next sync">
            <NextSync audience={audience} />
          </Section>
        )}
        <Section title="Members">
          <Members audience={audience} />
        </Section>
        <Section title="Syncs">
          <SyncHistory audience={audience} />
        </Section>
        {canChange && (
          <Section title="Settings">
            <EditAudience current={tagged} />
          </Section>
        )}
        {canChange && <Deletion audience={audience} />}
      </Stack>
    </>
  )
}

function Deletion({ audience }: { audience: Audience }) {
  const { id, name } = audience
  const [tells, setTells] = useState(true)
  return (
    <DeleteSection
      noun="audience"
      name={name}
      note="Its members and the history of its syncs are deleted for good."
      warning={tells ? <TellingWarning audience={audience} /> : notTelling}
      remove={() => deleteAudience(id, tells)}
      stale={['audiences']}
      list="/audiences"
    >
      <Checkbox
        label="First tell the destinations that its members no longer belong to it"
        checked={tells}
        onChange={({ currentTarget }) => setTells(currentTarget.checked)}
      />
    </DeleteSection>
  )
}

const notTelling =
  'Destinations are not told, and still treat its members as members. Its members and the history of its syncs are deleted for good.'

/** Whom the deletion tells, and whom it cannot. */
function TellingWarning({ audience: { destinationIds } }: { audience: Audience }) {
  const all = (useQuery(destinationsQuery).data ?? []).filter(({ id }) => destinationIds.includes(id))
  const off = all.filter(({ enabled }) => !enabled).map(({ name }) => name)
  const paused = all.filter((one) => one.enabled && one.paused).map(({ name }) => name)
  return [
    'Destinations are told first that its members no longer belong to it.',
    ...(off.length > 0
      ? [`Not told, because switched off, and still treating its members as members: ${off.join(', ')}.`]
      : []),
    ...(paused.length > 0 ? [`Told once they are resumed: ${paused.join(', ')}.`] : []),
    'Then its members and the history of its syncs are deleted for good.',
  ].join(' ')
}

function Steering({ audience: { id, schedule, paused } }: { audience: Audience }) {
  const sync = useChange({
    change: (kind: 'sync' | 'resync') => startSync(id, kind),
    stale: ['audiences'],
    done: 'A sync has been requested',
  })
  const pause = useChange({ change: () => setAudiencePaused(id, !paused), stale: ['audiences'] })
  return (
    <>
      <Button
        leftSection={<IconRefresh size={16} aria-hidden />}
        loading={sync.isPending}
        onClick={() => sync.mutate('sync')}
      >
        Sync now
      </Button>
      <Button
        variant="default"
        onClick={() =>
          confirm({
            title: 'Send every member again?',
            text: 'Each destination gets an Identify call for every member, including those it already has.',
            yes: 'Send all',
            dangerous: false,
            onYes: () => sync.mutate('resync'),
          })
        }
      >
        Resync
      </Button>
      {schedule !== null && (
        <Button
          variant="default"
          loading={pause.isPending}
          leftSection={paused ? <IconPlayerPlay size={16} aria-hidden /> : <IconPlayerPause size={16} aria-hidden />}
          onClick={() => pause.mutate()}
        >
          {paused ? 'Resume schedule' : 'Pause schedule'}
        </Button>
      )}
    </>
  )
}

function AudienceFacts({ audience }: { audience: Audience }) {
  const destinations = useQuery(destinationsQuery).data ?? []
  return (
    <Facts>
      <Fact name="Members">{audience.members.toLocaleString()}</Fact>
      <Fact name="Trait">{audience.key}</Fact>
      <Fact name="Members come from">{describeMembership(audience.membership)}</Fact>
      <Fact name="Schedule">{describeSchedule(audience)}</Fact>
      <Fact name="Destinations">
        {audience.destinationIds.length === 0
          ? 'none'
          : audience.destinationIds.map((id) => (
              <Link key={id} to="/destinations/$id" params={{ id }} mr="xs" dir="auto">
                {destinations.find((destination) => destination.id === id)?.name ?? id}
              </Link>
            ))}
      </Fact>
      {audience.membership.kind === 'sql' && (
        <Fact name="Query">
          <Code block mah={160} style={{ overflow: 'auto' }} tabIndex={0}>
            {audience.membership.query}
          </Code>
        </Fact>
      )}
      <Fact name="Bad rows allowed">{percent(audience.maxBadRowShare)} of the rows</Fact>
      <Fact name="Calls per second">{audience.maxPerSecond?.toLocaleString() ?? 'as many as possible'}</Fact>
      <Fact name="Needs confirmation to remove more than">{percent(audience.maxRemovalShare)} of the members</Fact>
    </Facts>
  )
}

const percent = (share: number): string => `${inPercent(share)} %`
