import { Button, Group, Stack, Text } from '@mantine/core'
import { Dialog } from './dialog.tsx'
import type { Question } from './question.ts'

/** A question with its two answers. */
export default function ConfirmDialog({ question, onClose }: { question: Question; onClose: () => void }) {
  const { title, text, yes, dangerous = true, onYes } = question
  return (
    <Dialog opened onClose={onClose} title={title}>
      <Stack>
        <Text size="sm" component="div">
          {text}
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            {...(dangerous && { color: 'red.9' })}
            onClick={() => {
              onClose()
              onYes()
            }}
          >
            {yes}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  )
}
