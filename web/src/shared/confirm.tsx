import { Text } from '@mantine/core'
import { modals } from '@mantine/modals'
import type { ReactNode } from 'react'

interface Question {
  title: string
  /** What will happen. */
  text: ReactNode
  /** The button that does it, a verb. */
  yes: string
  dangerous?: boolean
  onYes: () => void
}

/** Asks before something that cannot be taken back. */
export const confirm = ({ title, text, yes, dangerous = true, onYes }: Question): void => {
  modals.openConfirmModal({
    title,
    children: (
      <Text size="sm" component="div">
        {text}
      </Text>
    ),
    labels: { confirm: yes, cancel: 'Keep things as they are' },
    confirmProps: dangerous ? { color: 'red.9' } : {},
    closeButtonProps: { 'aria-label': 'Close' },
    onConfirm: onYes,
  })
}
