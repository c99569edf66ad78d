import { Select } from '@mantine/core'
import type { KeyboardEvent } from 'react'

interface Props {
  label: string
  data: { value: string; label: string }[]
  value: string | null
  onChange: (value: string | null) => void
}

/** A filter whose choices are found by typing. Enter takes the first that fits, also where no arrow key went to it: the name would stand in the
 *  field, and the list would have all. */
export function SearchedChoice({ data, value, ...rest }: Props) {
  const chosen = data.find((choice) => choice.value === value)
  const takeFirst = ({ key, currentTarget: field }: KeyboardEvent<HTMLInputElement>): void => {
    const isTyped = field.value.trim() !== '' && field.value !== chosen?.label
    if (key !== 'Enter' || !isTyped || field.hasAttribute('aria-activedescendant')) return
    const choices = document.getElementById(field.getAttribute('aria-controls') ?? '')
    choices?.querySelector<HTMLElement>('[role=option]')?.click()
  }
  return (
    <Select
      placeholder="Any"
      nothingFoundMessage="None fits"
      searchable
      clearable
      data={data}
      value={value}
      onKeyDown={takeFirst}
      {...rest}
    />
  )
}
