import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Group,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  UnstyledButton,
} from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { IconHelp, IconSearch } from '@tabler/icons-react'
import { Outlet, useLocation } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { useQuery } from '@tanstack/react-query'
import { sessionEndedQuery, sessionQuery } from '../api/session.ts'
import { Link, MenuLink } from '../shared/link.tsx'
import { isDialogOpen } from '../shared/open-dialogs.ts'
import { AccountMenu } from './account-menu.tsx'
import { ColorSchemeMenu } from './color-scheme-menu.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { pages } from './pages.tsx'
import { keepTyped } from './typed-early.ts'
import { useKeptFocus } from './use-kept-focus.ts'
import { loadFile } from '../shared/load-file.ts'

/** Loaded when they are first asked for. */
const SignInAgain = lazy(() => loadFile(() => import('./sign-in-again.tsx')))
const CommandPalette = lazy(() => loadFile(() => import('./command-palette.tsx')))

/** The frame of all pages: menu, search, account. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure()
  const { pathname } = useLocation()
  const main = useRef<HTMLElement>(null)
  const role = useQuery(sessionQuery).data?.role
  const hasSessionEnded = useQuery(sessionEndedQuery).data
  const isFirst = useRef(true)
  const [searches, setSearches] = useState(0)
  useKeptFocus()
  /** Gives what was typed before the palette was there. */
  const takeTyped = useRef<() => string>(undefined)
  const search = (): void => {
    if (searches === 0) takeTyped.current ??= keepTyped()
    setSearches(searches + 1)
  }
  // The page beneath a dialog waits until that is closed.
  const searchFromPage = (): void => (isDialogOpen() ? undefined : search())
  const burger = useRef<HTMLButtonElement>(null)
  const closeMenu = (): void => {
    if (!isOpen || isDialogOpen()) return
    close()
    burger.current?.focus()
  }
  useHotkeys([
    ['/', searchFromPage],
    ['Escape', closeMenu, { preventDefault: false }],
  ])
  // No field has a use for it.
  useHotkeys([['mod+K', searchFromPage]], [], true)
  useEffect(() => {
    close()
    // A reader of the screen hears the new page; the first one is announced by the browser.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
  }, [pathname, close])

  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'md', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip-link" href="#main">
        Skip to the page
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              ref={burger}
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={isOpen ? 'Close the menu' : 'Open the menu'}
              aria-expanded={isOpen}
            />
            <Link to="/" underline="never" c="inherit">
              <Group gap={8} wrap="nowrap">
                <img src="/favicon.svg" width={26} height={26} alt="" />
                <Text fw={700}>Postrider</Text>
              </Group>
            </Link>
          </Group>
          <Group gap="xs" wrap="nowrap">
            {role === 'viewer' && (
              <Tooltip label="You can look at everything but secrets, and change nothing">
                <Badge variant="default" tabIndex={0} visibleFrom="xs">
                  Viewer
                </Badge>
              </Tooltip>
            )}
            <SearchButton onClick={search} />
            <ColorSchemeMenu />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" component="nav" aria-label="Pages" className={isOpen ? '' : 'closed-menu'}>
        <AppShell.Section grow component={ScrollArea}>
          {pages.map(({ to, label, Icon }) => (
            <MenuLink
              key={to}
              to={to}
              label={label}
              leftSection={<Icon size={18} aria-hidden />}
              activeOptions={{ exact: to === '/', includeSearch: false }}
            />
          ))}
        </AppShell.Section>
        <AppShell.Section>
          <NavLink component="a" href="/help/" label="Help" leftSection={<IconHelp size={18} aria-hidden />} />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} ref={main} style={{ outline: 'none' }}>
        <ConnectionNotice />
        <Outlet />
      </AppShell.Main>
      {hasSessionEnded && (
        <Suspense>
          <SignInAgain />
        </Suspense>
      )}
      {searches > 0 && (
        <Suspense>
          <CommandPalette request={searches} takeTyped={() => takeTyped.current?.() ?? ''} />
        </Suspense>
      )}
    </AppShell>
  )
}

function SearchButton({ onClick }: { onClick: () => void }) {
  return (
    <>
      <UnstyledButton
        visibleFrom="sm"
        onClick={onClick}
        px="sm"
        h={34}
        style={{ border: '1px solid var(--mantine-color-default-border)', borderRadius: 8 }}
      >
        <Group gap="xs">
          <IconSearch size={16} aria-hidden />
          <Text size="sm" c="dimmed">
            Go to …
          </Text>
          <Text component="kbd" size="xs" c="dimmed">
            Ctrl K
          </Text>
        </Group>
      </UnstyledButton>
      <ActionIcon hiddenFrom="sm" variant="default" size={34} onClick={onClick} aria-label="Go to …">
        <IconSearch size={18} aria-hidden />
      </ActionIcon>
    </>
  )
}
