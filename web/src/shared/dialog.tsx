import { Button, getDefaultZIndex, Modal, type ModalProps } from '@mantine/core'
import { use, useCallback, useEffect, useRef } from 'react'
import { ClosingContext, type Ask } from './closing.ts'
import { lastInPage } from './last-in-page.ts'
import { useDialogPlace } from './open-dialogs.ts'

/** A dialog over the page. Whatever closes it, unsaved edits in it are asked about first, and the focus goes back to where it was. Of several,
 *  the one on top alone hears Escape. */
export function Dialog({ onClose, closeOnEscape = true, children, ...props }: ModalProps) {
  const ask = useRef<Ask>(null)
  const setAsk = useCallback((next: Ask | null): void => {
    ask.current = next
  }, [])
  const { place, isCovered } = useDialogPlace(props.opened)
  const close = (): void => (ask.current === null ? onClose() : ask.current(onClose))
  return (
    <Modal
      closeButtonProps={{ 'aria-label': 'Close' }}
      // A click beside it leaves the focus where it is.
      overlayProps={{ onMouseDown: (event) => event.preventDefault() }}
      // Its head is not that of the page.
      attributes={{ header: { role: 'none' } }}
      zIndex={getDefaultZIndex('modal') + place}
      closeOnEscape={closeOnEscape && !isCovered}
      onClose={close}
      {...props}
    >
      <FocusKeeper />
      <ClosingContext value={{ close, setAsk }}>{children}</ClosingContext>
    </Modal>
  )
}

/** Closes the dialog that it stands in, as the cross in its head does. */
export const CloseButton = () => (
  <Button variant="default" onClick={use(ClosingContext)?.close}>
    Close
  </Button>
)

/** Mounted with the content: a dialog that is taken out of the page while it is open cannot give the focus back itself. Where what had it
 *  is gone, the page gets it. */
function FocusKeeper() {
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const before = focusOutside(place.current?.closest('[role=dialog]') ?? null)
    return () => {
      if (before?.isConnected === true) return before.focus({ preventScroll: true })
      // Of two that go together, the one beneath may have given it back already.
      if (document.activeElement !== document.body) return
      const next = lastInPage() ?? document.querySelector('main')
      next?.focus({ preventScroll: true })
    }
  }, [])
  return <span ref={place} hidden />
}

/** What had the focus when the dialog opened; it may have taken it already, or nothing had it. */
function focusOutside(dialog: Element | null): HTMLElement | null {
  const { activeElement } = document
  return activeElement instanceof HTMLElement &&
    activeElement !== document.body &&
    dialog?.contains(activeElement) !== true
    ? activeElement
    : null
}
