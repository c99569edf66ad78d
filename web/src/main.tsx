import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import '@mantine/spotlight/styles.layer.css'
import './styles.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from './api/query-client.ts'
import { sessionEndedQuery, sessionQuery } from './api/session.ts'
import { statusQuery } from './api/system.ts'
import { createAppRouter } from './router.tsx'
import { Questions } from './shared/confirm.tsx'
import { cssVariables, theme } from './theme.ts'

const queryClient = createQueryClient({
  // What is asked beside the first question for the session ends none: there may be none yet.
  onSignedOut: () =>
    queryClient.getQueryData(sessionQuery.queryKey) && queryClient.setQueryData(sessionEndedQuery.queryKey, true),
  // One state of the connection for the whole app: it is found out at once, by whichever query.
  onUnreachable: () => void queryClient.invalidateQueries({ queryKey: statusQuery.queryKey }, { cancelRefetch: false }),
})
const router = createAppRouter(queryClient)

const root = document.getElementById('root')
if (root === null) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" />
        <Questions />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
