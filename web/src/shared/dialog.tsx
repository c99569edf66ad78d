import { Modal, type ModalProps } from '@mantine/core'
import { useEffect } from 'react'

/** A dialog over the page. The focus goes back to where it was, however it ends. */
export function Dialog(props: ModalProps) {
  return (
    // Its head is not that of the page.
    <Modal closeButtonProps={{ 'aria-label': 'Close' }} attributes={{ header: { role: 'none' } }} {...props}>
      <FocusKeeper />
      {props.children}
    </Modal>
  )
}

/** Mounted with the content: a dialog that is taken out of the page while it is open cannot give the focus back itself. */
function FocusKeeper() {
  useEffect(() => {
    const before = lastFocusOutside()
    return () => before?.focus({ preventScroll: true })
  }, [])
  return null
}

/** What had the focus when the dialog opened; it may have taken it already. */
function lastFocusOutside(): HTMLElement | null {
  const { activeElement } = document
  return activeElement instanceof HTMLElement && activeElement.closest('[role=dialog]') === null ? activeElement : null
}
