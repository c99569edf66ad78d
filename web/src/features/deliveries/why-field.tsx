import { TextInput } from '@mantine/core'

/** Longest reason that the server takes, in characters. */
const maxLength = 500

interface Props {
  value: string
  onChange: (value: string) => void
}

/** Why deliveries are steered: stands in their timelines. The dialog around it begins here. */
export const WhyField = ({ value, onChange }: Props) => (
  <TextInput
    label="Why"
    description="Optional; shown in the history of each delivery"
    maxLength={maxLength}
    value={value}
    onChange={({ currentTarget }) => onChange(currentTarget.value)}
    data-autofocus
  />
)
