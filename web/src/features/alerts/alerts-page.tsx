import { Stack } from '@mantine/core'
import { PageHeader } from '../../shared/page-header.tsx'
import { AlertChannels } from './alert-channels.tsx'
import { AlertHistory } from './alert-history.tsx'
import { AlertRulesForm } from './alert-rules.tsx'

/** What operators are told of, and where. */
export function AlertsPage() {
  return (
    <>
      <PageHeader title="Alerts" />
      <Stack gap="lg">
        <AlertHistory />
        <AlertRulesForm />
        <AlertChannels />
      </Stack>
    </>
  )
}
