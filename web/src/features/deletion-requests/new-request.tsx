import { Button, Checkbox } from '@mantine/core'
import { useState } from 'react'
import { requestDeletion } from '../../api/deletion-requests.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { bodyOf, isNobody, nobody, UsersOfSourcesFields, whyRefused } from './users-of-sources.tsx'

export function NewRequest({ onDone }: { onDone: () => void }) {
  const [users, setUsers] = useState(nobody)
  const [suppress, setSuppress] = useState(false)
  const [problem, setProblem] = useState<string>()
  const body = bodyOf(users)
  const count = body.userIds.length
  const ask = useChange({
    change: () => requestDeletion({ ...body, suppress }),
    stale: ['deletion-requests'],
    done: 'The deletion has been requested',
    onDone,
    onFailed: (error) => setProblem(whyRefused(error, body.userIds)),
  })
  return (
    <FormStack isSaving={ask.isPending}>
      <UnsavedGuard isDirty={!isNobody(users) || suppress} />
      <UsersOfSourcesFields
        value={users}
        onChange={setUsers}
        sourcesDescription="All sources, unless you select some"
      />
      <Checkbox
        label="Also drop later events of these users, until you lift that"
        checked={suppress}
        onChange={({ currentTarget }) => setSuppress(currentTarget.checked)}
      />
      <FormProblem title="Not requested" problem={problem} />
      <Button color="red" disabled={count === 0} loading={ask.isPending} onClick={() => ask.mutate()}>
        Delete {count === 1 ? '1 user' : `${count.toLocaleString()} users`}
      </Button>
    </FormStack>
  )
}
