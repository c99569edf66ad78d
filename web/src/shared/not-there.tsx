import { IconMapOff } from '@tabler/icons-react'
import { useLocation } from '@tanstack/react-router'
import { EmptyState } from './empty-state.tsx'
import { explain } from './error-notice.tsx'
import { ButtonLink } from './link.tsx'
import { PageHeader } from './page-header.tsx'

/** The lists that such a page may belong to, by the first part of its path. */
const lists = {
  sources: { to: '/sources', label: 'Look in the list of sources' },
  destinations: { to: '/destinations', label: 'Look in the list of destinations' },
  audiences: { to: '/audiences', label: 'Look in the list of audiences' },
  deliveries: { to: '/deliveries', label: 'Look in the list of deliveries' },
} as const

const elsewhere = { to: '/', label: 'Go to the overview' } as const

/** The page of something that is not, or no longer, there. */
export default function NotThere({ error }: { error: Error }) {
  const [, part = ''] = useLocation().pathname.split('/')
  const { to, label } = part in lists ? lists[part as keyof typeof lists] : elsewhere
  return (
    <>
      <PageHeader title="Not found" />
      <EmptyState
        icon={<IconMapOff aria-hidden />}
        title="Nothing was found here"
        action={<ButtonLink to={to}>{label}</ButtonLink>}
      >
        {explain(error)} Check the address for a typing mistake, or look for it in the list.
      </EmptyState>
    </>
  )
}
