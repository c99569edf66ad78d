import { ActionIcon, Menu } from '@mantine/core'
import { IconBook, IconLogout, IconUser } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { sessionQuery, signOut } from '../api/session.ts'
import { confirm } from '../shared/confirm.tsx'
import { isAnythingUnsaved, isConnectDraftKept } from '../shared/unsaved.ts'
import { useChange } from '../shared/use-change.ts'

export function AccountMenu() {
  const client = useQueryClient()
  const navigate = useNavigate()
  const session = useQuery(sessionQuery).data
  const leave = useChange({
    change: signOut,
    stale: [],
    onDone: () => {
      client.clear()
      // Drafts are for who typed them.
      sessionStorage.clear()
      client.setQueryData(sessionQuery.queryKey, null)
      void navigate({ to: '/login', ignoreBlocker: true })
    },
  })
  const askOrLeave = (): void => {
    const losses = [
      ...(isAnythingUnsaved() ? ['Your changes on this page are not saved. They are lost when you sign out.'] : []),
      ...(isConnectDraftKept()
        ? [
            'You have not finished connecting a destination. What you entered and did not save is lost when you sign out.',
          ]
        : []),
    ]
    if (losses.length === 0) leave.mutate()
    else
      confirm({
        title: 'Sign out without saving?',
        text: losses.join(' '),
        yes: 'Sign out without saving',
        onYes: () => leave.mutate(),
      })
  }
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size={34} aria-label="Account">
          <IconUser size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Signed in as {session?.role}</Menu.Label>
        <Menu.Item component="a" href="/docs" leftSection={<IconBook size={16} aria-hidden />}>
          API reference
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={askOrLeave}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
