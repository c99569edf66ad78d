import { IconMapOff } from '@tabler/icons-react'
import { EmptyState } from './empty-state.tsx'
import { explain } from './error-notice.tsx'
import { ButtonLink } from './link.tsx'
import { PageHeader } from './page-header.tsx'

/** The page of something that is not, or no longer, there. */
export default function NotThere({ error }: { error: Error }) {
  return (
    <>
      <PageHeader title="Not found" />
      <EmptyState
        icon={<IconMapOff aria-hidden />}
        title="Nothing was found here"
        action={<ButtonLink to="/">Go to the overview</ButtonLink>}
      >
        {explain(error)}
      </EmptyState>
    </>
  )
}
