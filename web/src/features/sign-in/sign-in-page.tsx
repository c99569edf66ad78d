import { Center, Code, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { sessionQuery } from '../../api/session.ts'
import { TokenForm, useSignIn } from '../../shared/token-form.tsx'

/** Sign-in with a token, typed or in the fragment of the login link. */
export function SignInPage() {
  useDocumentTitle('Sign in · Postrider')
  const { next = '/' } = useSearch({ from: '/login' })
  const router = useRouter()
  const client = useQueryClient()
  const enter = useSignIn((session) => {
    client.clear()
    client.setQueryData(sessionQuery.queryKey, session)
    router.history.replace(next.startsWith('/') && !next.startsWith('//') ? next : '/')
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
        <Stack>
          <TokenForm enter={enter}>
            <Stack gap={4} align="center">
              <img src="/favicon.svg" width={48} height={48} alt="" />
              <Title order={1} size="h3">
                Sign in to Postrider
              </Title>
            </Stack>
          </TokenForm>
          <Text size="sm" c="dimmed">
            <Code>npm start</Code> prints a link that signs you in at once. On a server, the token is the one in{' '}
            <Code>POSTRIDER_ADMIN_TOKEN</Code>.
          </Text>
        </Stack>
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
