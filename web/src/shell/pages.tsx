import {
  IconBell,
  IconBox,
  IconChartBar,
  IconFilterOff,
  IconLayoutGrid,
  IconPlugConnected,
  IconSend,
  IconSettings,
  IconUsers,
  IconUserX,
} from '@tabler/icons-react'

/** The pages of the menu and of the command palette. */
export const pages = [
  { to: '/', label: 'Overview', hint: 'What came in and what became of it', Icon: IconChartBar },
  { to: '/sources', label: 'Sources', hint: 'Write keys, snippets, live events', Icon: IconBox },
  { to: '/destinations', label: 'Destinations', hint: 'Endpoints that events go to', Icon: IconPlugConnected },
  { to: '/catalog', label: 'Catalog', hint: 'Connect a new destination', Icon: IconLayoutGrid },
  { to: '/deliveries', label: 'Deliveries', hint: 'Every event and where it stands', Icon: IconSend },
  {
    to: '/turned-away',
    label: 'Turned away',
    hint: 'Events that were not delivered to anyone, and why',
    Icon: IconFilterOff,
  },
  { to: '/alerts', label: 'Alerts', hint: 'What fails, and who is told', Icon: IconBell },
  { to: '/audiences', label: 'Audiences', hint: 'Members and their syncs', Icon: IconUsers },
  { to: '/deletion-requests', label: 'Deletion requests', hint: 'Users to be forgotten', Icon: IconUserX },
  { to: '/settings', label: 'Settings', hint: 'Tokens, audit log, state of the system', Icon: IconSettings },
] as const
