import { Button, Stack, Text } from '@mantine/core'
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react'
import { useState } from 'react'
import type { DeliveryAttempt } from '../../../../src/schemas/delivery.ts'
import { CodeBlock } from '../../shared/copy.tsx'

/** What an attempt sent and got, as it was then; opened on demand. */
export function AttemptEvidence({ attempt, number }: { attempt: DeliveryAttempt; number: number }) {
  const [isOpen, setOpen] = useState(false)
  if (attempt.request === null)
    return (
      <Text size="xs" c="dimmed">
        Its request is not kept.
      </Text>
    )
  const Chevron = isOpen ? IconChevronDown : IconChevronRight
  return (
    <>
      <Button
        variant="subtle"
        size="compact-xs"
        leftSection={<Chevron size={14} aria-hidden />}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        Request and response
      </Button>
      {isOpen && <Opened attempt={attempt} number={number} request={attempt.request} />}
    </>
  )
}

function Opened({
  attempt: { url, status, response, error, excerpt, isCut },
  number,
  request,
}: {
  attempt: DeliveryAttempt
  number: number
  request: NonNullable<DeliveryAttempt['request']>
}) {
  const sent = Object.entries(request.headers).map(([name, value]) => ({ name, value }))
  return (
    <Stack gap="xs" w="100%">
      <CodeBlock name={`request headers of attempt ${number}`} value={lines(`${request.method} ${url ?? ''}`, sent)} />
      {response === null ? (
        <Text size="sm">There was no answer.</Text>
      ) : (
        <CodeBlock
          name={`response headers of attempt ${number}`}
          value={lines(`HTTP ${status ?? ''}`, response.headers)}
        />
      )}
      {error === null && excerpt !== null && <CodeBlock name={`response body of attempt ${number}`} value={excerpt} />}
      <Text size="xs" c="dimmed">
        As it was sent and answered then, whatever the settings are now; secrets are masked
        {isCut && ', and some headers that were too many or too long are left out'}.
      </Text>
    </Stack>
  )
}

const lines = (first: string, headers: readonly { name: string; value: string }[]): string =>
  [first, ...headers.map(({ name, value }) => `${name}: ${value}`)].join('\n')
