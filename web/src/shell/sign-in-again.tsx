import { Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { sessionEndedQuery, sessionQuery } from '../api/session.ts'
import { Dialog } from '../shared/dialog.tsx'
import { TokenForm, useSignIn } from '../shared/token-form.tsx'

/** Stands over the page when its session has ended: what was typed there stays, and goes on with a new session. */
export default function SignInAgain() {
  const client = useQueryClient()
  const enter = useSignIn((session) => {
    client.setQueryData(sessionQuery.queryKey, session)
    client.setQueryData(sessionEndedQuery.queryKey, false)
    void client.invalidateQueries()
  })
  return (
    <Dialog
      opened
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="Your session has ended"
    >
      <TokenForm enter={enter}>
        <Text size="sm">Sign in to go on. What you typed on this page is still there.</Text>
      </TokenForm>
    </Dialog>
  )
}
