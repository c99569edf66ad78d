import { Button, Group, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { use, useEffect, useState } from 'react'
import { ClosingContext } from './closing.ts'
import { Dialog } from './dialog.tsx'
import { useUnsaved } from './unsaved.ts'

/** Asks before a page, one of its tabs or a dialog is left whose form has unsaved edits. */
export function UnsavedGuard({ isDirty }: { isDirty: boolean }) {
  useUnsaved(isDirty)
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && placeOf(current) !== placeOf(next),
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  const closing = useAskedClosing(isDirty)
  return (
    <>
      <LossQuestion
        opened={status === 'blocked'}
        title="Leave without saving?"
        text="Your changes on this page are not saved. They are lost when you leave it."
        stay="Stay on the page"
        leave="Leave without saving"
        onStay={() => reset?.()}
        onLeave={() => proceed?.()}
      />
      {/* Not there before it is asked: it would take the Escape that led to it for its own. */}
      {closing.isAsked && (
        <LossQuestion
          opened
          title="Close without saving?"
          text="What you entered here is not saved. It is lost when you close this."
          stay="Go on editing"
          leave="Close without saving"
          onStay={closing.stay}
          onLeave={closing.leave}
        />
      )}
    </>
  )
}

const placeOf = ({ pathname, search }: { pathname: string; search: object }): string =>
  pathname + JSON.stringify(search)

/** What is asked by the dialog around the form before it closes. */
function useAskedClosing(isDirty: boolean) {
  const setAsk = use(ClosingContext)?.setAsk
  const [proceed, setProceed] = useState<() => void>()
  useEffect(() => {
    if (!isDirty || setAsk === undefined) return
    setAsk((close) => setProceed(() => close))
    return () => setAsk(null)
  }, [isDirty, setAsk])
  const stay = (): void => setProceed(undefined)
  return {
    isAsked: proceed !== undefined,
    stay,
    leave: () => {
      stay()
      proceed?.()
    },
  }
}

interface QuestionProps {
  opened: boolean
  title: string
  text: string
  /** The button that keeps what was entered, and the one that loses it. */
  stay: string
  leave: string
  onStay: () => void
  onLeave: () => void
}

const LossQuestion = ({ opened, title, text, stay, leave, onStay, onLeave }: QuestionProps) => (
  <Dialog opened={opened} onClose={onStay} title={title}>
    <Stack>
      <Text size="sm">{text}</Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onStay} data-autofocus>
          {stay}
        </Button>
        <Button color="red.9" onClick={onLeave}>
          {leave}
        </Button>
      </Group>
    </Stack>
  </Dialog>
)
