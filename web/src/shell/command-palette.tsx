import { spotlight, Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from '@mantine/spotlight'
import { IconBox, IconPlugConnected, IconSearch, IconSend } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { destinationsQuery } from '../api/destinations.ts'
import { sourcesQuery } from '../api/sources.ts'
import { pages } from './pages.tsx'

/** To any page, source or destination by its name, or to deliveries by a user's or message's id.
 *  @param request  opens with each new number */
export default function CommandPalette({ request }: { request: number }) {
  useEffect(() => spotlight.open(), [request])
  const navigate = useNavigate()
  const [query, setQuery] = useState('')
  const sources = useQuery(sourcesQuery).data ?? []
  const destinations = useQuery(destinationsQuery).data ?? []
  const wanted = query.trim()

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
        leftSection: <IconBox size={20} aria-hidden />,
        onClick: () => void navigate({ to: '/sources/$id', params: { id } }),
      })),
    },
    {
      group: 'Destinations',
      actions: destinations.map(({ id, name }) => ({
        id,
        label: name,
        leftSection: <IconPlugConnected size={20} aria-hidden />,
        onClick: () => void navigate({ to: '/destinations/$id', params: { id } }),
      })),
    },
    { group: 'Deliveries', actions: wanted === '' ? [] : deliverySearches(wanted) },
  ]

  function deliverySearches(id: string): SpotlightActionData[] {
    return (['userId', 'messageId'] as const).map((member) => ({
      id: `search-${member}`,
      label: `Deliveries of ${member === 'userId' ? 'user' : 'message'} ${id}`,
      leftSection: <IconSend size={20} aria-hidden />,
      onClick: () => void navigate({ to: '/deliveries', search: { [member]: id } }),
    }))
  }

  return (
    <Spotlight
      actions={groups}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      nothingFound="Nothing has this name"
      limit={12}
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: 'A page, source, destination, user or message id',
        'aria-label': 'Go to',
      }}
    />
  )
}
