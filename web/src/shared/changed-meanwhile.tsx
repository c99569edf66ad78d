import { Alert, Button, Group, Stack } from '@mantine/core'
import { ApiError } from '../api/request.ts'

interface Props {
  /** What a form's saving failed with. */
  error: Error | null
  isSaving: boolean
  /** What the form calls the members of what it saves. */
  labels: Readonly<Record<string, string>>
  /** Takes what is saved now, in place of what was typed. */
  onReload: () => void
  /** Saves what was typed, over what is saved now. */
  onOverwrite: () => void
}

/** The form is older than what is saved. */
export const isChangedMeanwhile = (error: Error | null): boolean =>
  error instanceof ApiError && error.status === 409 && error.message.startsWith('This was changed')

/** Asks what should count when something else was saved while a form was open: by somebody else, or here, if the answer to it was lost. */
export function ChangedMeanwhile({ error, isSaving, labels, onReload, onOverwrite }: Props) {
  if (error === null || !isChangedMeanwhile(error)) return null
  return (
    <Alert color="yellow" role="alert" title="Not saved: this has been changed in the meantime">
      <Stack gap="sm" align="flex-start">
        {inWords(error.message, labels)}
        <Group>
          <Button variant="default" onClick={onReload}>
            Discard mine and show what is saved
          </Button>
          <Button color="red.9" loading={isSaving} onClick={onOverwrite}>
            Overwrite it with mine
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}

/** `… since it was read: settings.webhooks, onFailing. Read it …` → `… since it was read: “Endpoints”, “Retry window”.` */
const inWords = (message: string, labels: Props['labels']): string =>
  `${message.split('. ')[0]}.`.replace(/(?<=: ).+(?=\.$)/, (members) =>
    members
      .split(', ')
      .map((member) => `“${labels[member] ?? member}”`)
      .join(', '),
  )
