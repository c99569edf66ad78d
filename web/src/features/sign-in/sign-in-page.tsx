import { Alert, Button, Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDocumentTitle } from '@mantine/hooks'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/request.ts'
import { sessionQuery, signIn } from '../../api/session.ts'
import { explain } from '../../shared/error-notice.tsx'

/** Sign-in with a token, typed or in the fragment of the login link. */
export function SignInPage() {
  useDocumentTitle('Sign in · Postrider')
  const { next = '/' } = useSearch({ from: '/login' })
  const router = useRouter()
  const client = useQueryClient()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const form = useForm({ mode: 'uncontrolled', initialValues: { token: '' } })

  const enter = async (token: string): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      const session = await signIn(token.trim())
      client.clear()
      client.setQueryData(sessionQuery.queryKey, session)
      router.history.replace(next.startsWith('/') && !next.startsWith('//') ? next : '/')
    } catch (error) {
      setProblem(describe(error as Error))
      setBusy(false)
    }
  }

  const hasLooked = useRef(false)
  useEffect(() => {
    if (hasLooked.current) return
    hasLooked.current = true
    const token = takeTokenFromAddress()
    if (token !== undefined) void enter(token)
  })

  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder shadow="sm" p="xl" w="100%" maw={420}>
        <form onSubmit={form.onSubmit(({ token }) => void enter(token))}>
          <Stack>
            <Stack gap={4} align="center">
              <img src="/favicon.svg" width={48} height={48} alt="" />
              <Title order={1} size="h3">
                Sign in to Postrider
              </Title>
            </Stack>
            {problem !== undefined && (
              <Alert color="red" role="alert" icon={<IconAlertTriangle aria-hidden />} title="Not signed in">
                {problem}
              </Alert>
            )}
            <PasswordInput
              label="Token"
              placeholder="The admin token, or an API token"
              required
              withAsterisk={false}
              autoFocus
              autoComplete="current-password"
              key={form.key('token')}
              {...form.getInputProps('token')}
            />
            <Button type="submit" loading={isBusy} fullWidth>
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
