import { Tabs } from '@mantine/core'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { PageHeader } from '../../shared/page-header.tsx'
import { AuditLog } from './audit-log.tsx'
import { SystemStatus } from './system-status.tsx'
import { Tokens } from './tokens.tsx'

export function SettingsPage() {
  const { tab = 'system' } = useSearch({ from: '/shell/settings' })
  const navigate = useNavigate()
  return (
    <>
      <PageHeader title="Settings" />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) => void navigate({ to: '/settings', search: { tab: value ?? undefined }, replace: true })}
      >
        <Tabs.List mb="lg">
          <Tabs.Tab value="system">System</Tabs.Tab>
          <Tabs.Tab value="tokens">API tokens</Tabs.Tab>
          <Tabs.Tab value="audit">Audit log</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="system">
          <SystemStatus />
        </Tabs.Panel>
        <Tabs.Panel value="tokens">
          <Tokens />
        </Tabs.Panel>
        <Tabs.Panel value="audit">
          <AuditLog />
        </Tabs.Panel>
      </Tabs>
    </>
  )
}
