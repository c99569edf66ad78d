/** The addresses of the app. Every page is a file of its own that is loaded when it is first visited. */

import { useQuery, type QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  lazyRouteComponent,
  redirect,
  useRouter,
  type ErrorComponentProps,
} from '@tanstack/react-router'
import { readFilter } from './features/deliveries/filter.ts'
import { readTurnedAwayFilter } from './features/turned-away/filter.ts'
import { overviewFilter, readRange } from './features/overview/range.ts'
import { SignInPage } from './features/sign-in/sign-in-page.tsx'
import { deliveriesQuery } from './api/deliveries.ts'
import { destinationsQuery } from './api/destinations.ts'
import { sessionQuery } from './api/session.ts'
import { sourcesQuery } from './api/sources.ts'
import { overviewQuery } from './api/system.ts'
import { useEffect } from 'react'
import { ErrorNotice } from './shared/error-notice.tsx'
import { loadFile } from './shared/load-file.ts'
import { Shell } from './shell/shell.tsx'

/** A page that is loaded when it is first visited. */
const page: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => loadFile(load), name)

/** Begins what a page needs: when the app is opened on it, its file and its first question are asked for beside the session. */
type Begin = (client: QueryClient, search: Record<string, unknown>) => unknown

const rootRoute = createRootRouteWithContext<{ queryClient: QueryClient }>()({ component: Root })

/** Opens a page that could not be opened without its session, once that is there. The notice of it cannot do so: it is drawn anew while the
 *  page is opened. */
function Root() {
  const router = useRouter()
  const isThere = useQuery({ ...sessionQuery, enabled: false }).data !== undefined
  useEffect(() => {
    if (isThere && router.state.matches.some(({ status }) => status === 'error')) void router.invalidate()
  }, [isThere, router])
  return <Outlet />
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: (search): { next?: string | undefined } => ({ next: text(search['next']) }),
  component: SignInPage,
})

/** Everything but the sign-in: only for who is signed in. */
const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: Shell,
  beforeLoad: async ({ context: { queryClient }, location, matches }) => {
    if (queryClient.getQueryData(sessionQuery.queryKey) === undefined)
      for (const { staticData, search } of matches) staticData.begin?.(queryClient, { ...search })
    const session = await queryClient.ensureQueryData(sessionQuery)
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- how the router is told to go elsewhere
    if (session === null) throw redirect({ to: '/login', search: location.href === '/' ? {} : { next: location.href } })
  },
})

const OverviewPage = page(() => import('./features/overview/overview-page.tsx'), 'OverviewPage')

const overviewRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  validateSearch: readRange,
  component: OverviewPage,
  staticData: {
    begin: (client, search) => {
      const range = readRange(search)
      return Promise.all([
        OverviewPage.preload?.(),
        client.prefetchQuery(overviewQuery(range, (now) => overviewFilter(range, now))),
      ])
    },
  },
})

const catalogRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/catalog',
  component: page(() => import('./features/destinations/catalog-page.tsx'), 'CatalogPage'),
})

const connectRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/catalog/webhooks',
  component: page(() => import('./features/destinations/connect-page.tsx'), 'ConnectPage'),
})

const destinationsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/destinations',
  component: page(() => import('./features/destinations/destinations-page.tsx'), 'DestinationsPage'),
})

const destinationRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/destinations/$id',
  component: page(() => import('./features/destinations/destination-page.tsx'), 'DestinationPage'),
})

const sourcesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sources',
  component: page(() => import('./features/sources/sources-page.tsx'), 'SourcesPage'),
})

const sourceRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/sources/$id',
  component: page(() => import('./features/sources/source-page.tsx'), 'SourcePage'),
})

const DeliveriesPage = page(() => import('./features/deliveries/deliveries-page.tsx'), 'DeliveriesPage')

const deliveriesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/deliveries',
  validateSearch: readFilter,
  component: DeliveriesPage,
  staticData: {
    begin: (client, search) =>
      Promise.all([
        DeliveriesPage.preload?.(),
        client.prefetchInfiniteQuery(deliveriesQuery(readFilter(search))),
        // Its rows have their names.
        client.prefetchQuery(sourcesQuery),
        client.prefetchQuery(destinationsQuery),
      ]),
  },
})

const deliveryRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/deliveries/$id',
  component: page(() => import('./features/deliveries/delivery-page.tsx'), 'DeliveryPage'),
})

const alertsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/alerts',
  component: page(() => import('./features/alerts/alerts-page.tsx'), 'AlertsPage'),
})

const turnedAwayRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/turned-away',
  validateSearch: readTurnedAwayFilter,
  component: page(() => import('./features/turned-away/turned-away-page.tsx'), 'TurnedAwayPage'),
})

const audiencesRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/audiences',
  component: page(() => import('./features/audiences/audiences-page.tsx'), 'AudiencesPage'),
})

const audienceRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/audiences/$id',
  component: page(() => import('./features/audiences/audience-page.tsx'), 'AudiencePage'),
})

const deletionRequestsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/deletion-requests',
  component: page(() => import('./features/deletion-requests/deletion-requests-page.tsx'), 'DeletionRequestsPage'),
})

const settingsRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/settings',
  validateSearch: (search): { tab?: string | undefined } => ({ tab: text(search['tab']) }),
  component: page(() => import('./features/settings/settings-page.tsx'), 'SettingsPage'),
})

const notFound = page(() => import('./shell/not-found-page.tsx'), 'NotFoundPage')

/** Any other address, within the frame: the way on is beside it. */
const notFoundRoute = createRoute({ getParentRoute: () => shellRoute, path: '$', component: notFound })

const routeTree = rootRoute.addChildren([
  loginRoute,
  shellRoute.addChildren([
    overviewRoute,
    catalogRoute,
    connectRoute,
    destinationsRoute,
    destinationRoute,
    sourcesRoute,
    sourceRoute,
    deliveriesRoute,
    deliveryRoute,
    turnedAwayRoute,
    alertsRoute,
    audiencesRoute,
    audienceRoute,
    deletionRequestsRoute,
    settingsRoute,
    notFoundRoute,
  ]),
])

/** Addresses hold plain text: an id of digits stays text, and people can read and write a filter. */
const parseSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search))

function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter((entry): entry is [string, string] => text(entry[1]) !== undefined)
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}

export const createAppRouter = (queryClient: QueryClient) =>
  createRouter({
    routeTree,
    context: { queryClient },
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultNotFoundComponent: notFound,
    defaultErrorComponent: PageError,
  })

function PageError({ error: thrown }: ErrorComponentProps) {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const router = useRouter()
  // What fails for a while before a page is shown is the session alone: this asks for it until it is there.
  useQuery(sessionQuery)
  return (
    <ErrorNotice
      isReading
      error={error}
      title="This page could not be shown"
      onRetry={() => void router.invalidate()}
    />
  )
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
  interface StaticDataRouteOption {
    begin?: Begin
  }
}
