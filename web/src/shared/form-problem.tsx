import { Alert } from '@mantine/core'

interface Props {
  /** What did not happen, as in `Not saved`. */
  title: string
  /** What is wrong with the form as a whole. */
  problem: string | undefined
}

/** Says above a form's button why the server refused it; errors of a field stand at the field. */
export function FormProblem({ title, problem }: Props) {
  if (problem === undefined) return null
  return (
    <Alert color="red" role="alert" title={title}>
      {problem}
    </Alert>
  )
}
