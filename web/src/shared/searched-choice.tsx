import { Select } from '@mantine/core'

interface Props {
  label: string
  data: { value: string; label: string }[]
  value: string | null
  onChange: (value: string | null) => void
}

/** A filter whose choices are found by typing. Enter takes the first that fits, also where no arrow key went to it: the name would stand in the
 *  field, and the list would have all. */
export const SearchedChoice = (props: Props) => (
  <Select placeholder="Any" nothingFoundMessage="None fits" searchable selectFirstOptionOnChange clearable {...props} />
)
