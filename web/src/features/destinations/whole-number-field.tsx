import { NumberInput, type NumberInputProps } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import type { DestinationValues } from './destination-form.ts'

interface Props extends Pick<NumberInputProps, 'label' | 'description' | 'min' | 'max' | 'suffix'> {
  form: UseFormReturnType<DestinationValues>
  /** Of the member in the form. */
  path: string
}

/** A whole number within bounds; some may be left empty. */
export const WholeNumberField = ({ form, path, ...props }: Props) => (
  <NumberInput {...props} allowDecimal={false} maw={320} key={form.key(path)} {...form.getInputProps(path)} />
)
