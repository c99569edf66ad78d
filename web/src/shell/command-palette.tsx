import { spotlight, Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from '@mantine/spotlight'
import { IconBox, IconFilterOff, IconPlugConnected, IconSearch, IconSend, IconUsers } from '@tabler/icons-react'
import { useDebouncedValue } from '@mantine/hooks'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { audiencesQuery } from '../api/audiences.ts'
import { deliveryCountQuery, deliveryQuery } from '../api/deliveries.ts'
import { destinationsQuery } from '../api/destinations.ts'
import { sourcesQuery } from '../api/sources.ts'
import { turnedAwayQuery } from '../api/turned-away.ts'
import { fitting } from './fitting.ts'
import { pages } from './pages.tsx'

/** Pause in typing before ids are looked up, in milliseconds. */
const typingMs = 250

/** How often what is shown is read again, in milliseconds. */
const refreshMs = 3_000

/** To any page, source, destination or audience by its name, id or URL, to a delivery by its id, or to what there is of a user's or message's id.
 *  @param request  opens with each new number
 *  @param takeTyped  gives what was typed before the field was there; asked once it is */
export default function CommandPalette({ request, takeTyped }: { request: number; takeTyped: () => string }) {
  useEffect(() => spotlight.open(), [request])
  const navigate = useNavigate()
  const [query, setQuery] = useState('')
  const [isOpen, setIsOpen] = useState(true)
  // Others make, rename and delete things.
  const whileOpen = { enabled: isOpen, refetchInterval: refreshMs }
  const sources = useQuery({ ...sourcesQuery, ...whileOpen }).data ?? []
  const destinations = useQuery({ ...destinationsQuery, ...whileOpen }).data ?? []
  const audiences = useQuery({ ...audiencesQuery, ...whileOpen }).data ?? []
  const wanted = query.trim()
  const found = useFound(wanted)
  /** An id that was confirmed before it was known what there is of it. */
  const [confirmed, setConfirmed] = useState('')

  const groups: SpotlightActionGroupData[] = [
    {
      group: 'Pages',
      actions: pages.map(({ to, label, hint, Icon }) => ({
        id: to,
        label,
        description: hint,
        leftSection: <Icon size={20} aria-hidden />,
        onClick: () => void navigate({ to }),
      })),
    },
    {
      group: 'Sources',
      actions: sources.map(({ id, name }) => ({
        id,
        label: name,
        keywords: [id],
        leftSection: <IconBox size={20} aria-hidden />,
        onClick: () => void navigate({ to: '/sources/$id', params: { id } }),
      })),
    },
    {
      group: 'Destinations',
      actions: destinations.map(({ id, name, settings: { webhooks } }) => ({
        id,
        label: name,
        keywords: [id, ...webhooks.flatMap((webhook) => [webhook.id, webhook.url])],
        leftSection: <IconPlugConnected size={20} aria-hidden />,
        onClick: () => void navigate({ to: '/destinations/$id', params: { id } }),
      })),
    },
    {
      group: 'Audiences',
      actions: audiences.map(({ id, name }) => ({
        id,
        label: name,
        keywords: [id],
        leftSection: <IconUsers size={20} aria-hidden />,
        onClick: () => void navigate({ to: '/audiences/$id', params: { id } }),
      })),
    },
  ]
  const named = fitting(groups, wanted)
  const lookedUp =
    wanted === '' ? [] : [{ group: 'Found', actions: found.isAsked ? searches(wanted) : [lookUp(wanted)] }]
  const isFound = (found.userId ?? 0) + (found.messageId ?? 0) > 0 || found.isTurnedAway || found.isDelivery

  /** Stands there until it is known what there is of an id; Enter before that leads to what is found then. */
  function lookUp(id: string): SpotlightActionData {
    return {
      id: 'search-0',
      label: 'Look up this id',
      description: id,
      leftSection: <IconSearch size={20} aria-hidden />,
      // The answer is asked for by the list of what is found: without the list, nobody waits for it.
      closeSpotlightOnTrigger: false,
      onClick: () => setConfirmed(id),
    }
  }

  /** Ids tell places, so that the first stays selected when the numbers come. */
  function searches(id: string): SpotlightActionData[] {
    return places(id).map(({ label, leftSection, go }, place) => ({
      ...{ id: `search-${place}`, label, description: id, leftSection },
      onClick: go,
    }))
  }

  /** What there is comes before what there is not. */
  function places(id: string) {
    const deliveries = (['userId', 'messageId'] as const).map((member) => ({
      isFound: (found[member] ?? 0) > 0,
      label: `${countText(found[member])} of this ${member === 'userId' ? 'user' : 'message'}`,
      leftSection: <IconSend size={20} aria-hidden />,
      go: () => void navigate({ to: '/deliveries', search: { [member]: id } }),
    }))
    const turnedAway = {
      isFound: true,
      label: 'An event that was turned away',
      leftSection: <IconFilterOff size={20} aria-hidden />,
      go: () => void navigate({ to: '/turned-away', search: { messageId: id } }),
    }
    const delivery = {
      isFound: true,
      label: 'The delivery with this id',
      leftSection: <IconSend size={20} aria-hidden />,
      go: () => void navigate({ to: '/deliveries/$id', params: { id } }),
    }
    return [...deliveries, ...(found.isTurnedAway ? [turnedAway] : []), ...(found.isDelivery ? [delivery] : [])].sort(
      (one, other) => Number(other.isFound) - Number(one.isFound),
    )
  }

  useEffect(() => {
    // The palette is drawn again after it has closed and before its field is empty.
    if (!isOpen || wanted === '' || wanted !== confirmed || !found.isAsked) return
    spotlight.close()
    places(wanted)[0]?.go()
  })

  return (
    <Spotlight
      // Names that have the id, too, may be more than are shown.
      actions={isFound ? [...lookedUp, ...named] : [...named, ...lookedUp]}
      filter={(_, actions) => actions}
      query={query}
      onQueryChange={(text) => {
        setQuery(text)
        setConfirmed('')
      }}
      onSpotlightOpen={() => setIsOpen(true)}
      onSpotlightClose={() => setIsOpen(false)}
      // Were it opened again while it still fades, its field would have what was typed before.
      transitionProps={{ duration: 0 }}
      shortcut={null}
      attributes={{ content: { 'aria-label': 'Go to' } }}
      // The library's own is too pale on the row that is selected.
      styles={{ actionDescription: { opacity: 1 } }}
      nothingFound="Nothing found. Try part of a name or URL, or a whole user, message or delivery id."
      limit={12}
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: 'A name, a URL or an id',
        'aria-label': 'Go to',
        onFocus: () => {
          const typed = takeTyped()
          if (typed !== '') setQuery(typed)
        },
      }}
    />
  )
}

/** Of a delivery, as programs have it. */
const deliveryId = /^event\/[^/]+\/./

/** What there is of an id: nothing of the one that was typed before. */
function useFound(id: string) {
  const [typed] = useDebouncedValue(id, typingMs)
  const asked = { enabled: id !== '' && id === typed, refetchInterval: refreshMs }
  const ofUser = useQuery({ ...deliveryCountQuery({ userId: id }), ...asked })
  const ofMessage = useQuery({ ...deliveryCountQuery({ messageId: id }), ...asked })
  const turnedAway = useInfiniteQuery({ ...turnedAwayQuery({ messageId: id }, 1), ...asked })
  const isDeliveryId = deliveryId.test(id)
  const delivery = useQuery({ ...deliveryQuery(id), ...asked, enabled: asked.enabled && isDeliveryId })
  return {
    userId: ofUser.data?.count,
    messageId: ofMessage.data?.count,
    /** Whether there is an answer, be it that none can be had. */
    isAsked: ![ofUser, ofMessage, turnedAway, ...(isDeliveryId ? [delivery] : [])].some(({ isPending }) => isPending),
    isTurnedAway: (turnedAway.data?.pages[0]?.items.length ?? 0) > 0,
    isDelivery: delivery.data !== undefined,
  }
}

const countText = (count: number | undefined): string =>
  count === undefined
    ? 'Deliveries'
    : count === 0
      ? 'No delivery'
      : count === 1
        ? '1 delivery'
        : `${count.toLocaleString()} deliveries`
