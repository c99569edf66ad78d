import { Alert, Button, Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState } from 'react'
import { ApiError } from '../../api/request.ts'
import { sessionQuery, signIn } from '../../api/session.ts'
import { explain } from '../../shared/error-notice.tsx'

/** Sign-in with a token, typed or in the fragment of the login link. */
export function SignInPage() {
  useDocumentTitle('Sign in · Postrider')
  const { next = '/' } = useSearch({ from: '/login' })
  const router = useRouter()
  const client = useQueryClient()
  const [token, setToken] = useState('')
  const enter = useMutation({
    mutationFn: signIn,
    onSuccess: (session) => {
      client.clear()
      client.setQueryData(sessionQuery.queryKey, session)
      router.history.replace(next.startsWith('/') && !next.startsWith('//') ? next : '/')
    },
  })

  const enterByLink = useEffectEvent(() => {
    const linked = takeTokenFromAddress()
    if (linked !== undefined) enter.mutate(linked)
  })
  useEffect(() => {
    enterByLink()
    // A login link that is opened on this page changes the fragment alone.
    window.addEventListener('hashchange', enterByLink)
    return () => window.removeEventListener('hashchange', enterByLink)
  }, [])

  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" w="100%" maw={420}>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            enter.mutate(token.trim())
          }}
        >
          <Stack>
            <Stack gap={4} align="center">
              <img src="/favicon.svg" width={48} height={48} alt="" />
              <Title order={1} size="h3">
                Sign in to Postrider
              </Title>
            </Stack>
            {enter.error !== null && (
              <Alert color="red" role="alert" icon={<IconAlertTriangle aria-hidden />} title="Not signed in">
                {describe(enter.error)}
              </Alert>
            )}
            <PasswordInput
              label="Token"
              placeholder="The admin token, or an API token"
              required
              withAsterisk={false}
              autoFocus
              autoComplete="current-password"
              value={token}
              onChange={({ currentTarget }) => setToken(currentTarget.value)}
            />
            <Button type="submit" loading={enter.isPending} fullWidth>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              The start-up text of <Code>npm start</Code> has a login link that signs you in at once. On a server, the
              token is the one in <Code>POSTRIDER_ADMIN_TOKEN</Code>.
            </Text>
          </Stack>
        </form>
      </Paper>
    </Center>
  )
}

/** Reads the token of a login link (`/login#token=…`) and takes it out of the address and the history. */
function takeTokenFromAddress(): string | undefined {
  const token = new URLSearchParams(window.location.hash.slice(1)).get('token')
  if (token === null || token === '') return undefined
  window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search)
  return token
}

const describe = (error: Error): string =>
  error instanceof ApiError && error.status === 401
    ? 'This token is not known. Copy it again from the start-up text, or ask who runs Postrider for one.'
    : explain(error)
