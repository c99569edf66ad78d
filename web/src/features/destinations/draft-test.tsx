import { Alert, Button, Group, Select, Stack } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconSend } from '@tabler/icons-react'
import { useState } from 'react'
import type { MessageType } from '../../../../src/schemas/message.ts'
import { testDraft } from '../../api/destinations.ts'
import { placeError } from '../../shared/form-errors.ts'
import { messageTypes } from '../../shared/message-types.ts'
import { useChange } from '../../shared/use-change.ts'
import { fieldOf, toDraft, type DestinationValues, type EndpointValues } from './destination-form.ts'
import { TestResult } from './test-result.tsx'

interface Props {
  form: UseFormReturnType<DestinationValues>
  /** Place of the endpoint in the form. */
  endpoint: number
  /** Whose secret signs while the form has none. */
  destinationId: string | undefined
}

/** Sends a sample event to one endpoint as it is typed, saved or not. */
export function DraftTest({ form, endpoint, destinationId }: Props) {
  const [type, setType] = useState<MessageType>('track')
  const [problem, setProblem] = useState<string>()
  // The draft has this endpoint alone.
  const fieldOfDraft = (path: string) => fieldOf(path.replace('webhooks[0]', `webhooks[${endpoint}]`), form.getValues())
  const test = useChange({
    change: (typed: EndpointValues) =>
      testDraft({
        type,
        ...(destinationId !== undefined && { destinationId }),
        settings: toDraft(form.getValues(), typed),
      }),
    stale: [],
    onDone: () => setProblem(undefined),
    onFailed: (error) => setProblem(placeError(error, fieldOfDraft, form.setFieldError)),
  })
  const typed = form.getValues().webhooks[endpoint]
  if (typed === undefined) return null
  const result = test.data?.results[0]
  return (
    <Stack gap="sm" aria-live="polite">
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          leftSection={<IconSend size={14} aria-hidden />}
          disabled={typed.url.trim() === ''}
          loading={test.isPending}
          onClick={() => test.mutate(typed)}
        >
          Test endpoint {endpoint + 1}
        </Button>
        <Select
          aria-label={`Type of the sample event for endpoint ${endpoint + 1}`}
          size="xs"
          w={120}
          data={messageTypes}
          value={type}
          onChange={(value) => setType(value as MessageType)}
          allowDeselect={false}
        />
      </Group>
      {problem !== undefined && (
        <Alert color="red" role="alert" title="The test has no result">
          {problem}
        </Alert>
      )}
      {result !== undefined && <TestResult result={result} />}
    </Stack>
  )
}
