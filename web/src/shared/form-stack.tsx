import { Fieldset, Stack, type StackProps } from '@mantine/core'

interface Props extends StackProps {
  isSaving: boolean
}

/** The fields of a form and its buttons, below each other. While they are saved they take nothing: what is typed in the meantime would be lost
 *  when the answer comes. */
export const FormStack = ({ isSaving, ...props }: Props) => (
  <Fieldset variant="unstyled" disabled={isSaving}>
    <Stack {...props} />
  </Fieldset>
)
