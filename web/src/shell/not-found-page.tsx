import { IconMapOff } from '@tabler/icons-react'
import { EmptyState } from '../shared/empty-state.tsx'
import { ButtonLink } from '../shared/link.tsx'
import { PageHeader } from '../shared/page-header.tsx'

export function NotFoundPage() {
  return (
    <>
      <PageHeader title="No such page" />
      <EmptyState
        icon={<IconMapOff aria-hidden />}
        title="Nothing is at this address"
        action={<ButtonLink to="/">Go to the overview</ButtonLink>}
      >
        Check the address for a typing mistake, or start from the overview.
      </EmptyState>
    </>
  )
}
