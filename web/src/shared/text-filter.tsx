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

/** A text that a list is narrowed to, which follows the typing, and has it all once the field is left: what is done next, such as to empty
 *  all filters, comes after it. */
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
      onBlur={() => tell.flush()}
    />
  )
}
