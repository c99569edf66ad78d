import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'

/** How long typing must pause before a list follows, in milliseconds. */
const typingPauseMs = 350

interface Props {
  label: string
  placeholder?: string
  value: string
  onChange: (value: string) => void
}

/** A text that a list is narrowed to, which follows the typing. Whoever goes on to another control among the filters, such as the one that
 *  empties all of them, has what was typed counted before; a press on a row of the list must still find that row there. */
export function TextFilter({ label, placeholder = 'Any', value, onChange }: Props) {
  const [text, setText] = useState(value)
  const [last, setLast] = useState(value)
  // The address bar changed by other means, such as the browser's "back".
  if (value !== last) {
    setLast(value)
    if (value !== text.trim()) setText(value)
  }
  const tell = useDebouncedCallback(onChange, typingPauseMs)
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={text}
      onChange={({ currentTarget }) => {
        setText(currentTarget.value)
        tell(currentTarget.value.trim())
      }}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (currentTarget.closest('[role=search]')?.contains(relatedTarget)) tell.flush()
      }}
    />
  )
}
