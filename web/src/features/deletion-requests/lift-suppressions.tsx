import { Button, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import type { LiftedSuppressions } from '../../../../src/schemas/deletion-request.ts'
import { liftSuppressions } from '../../api/deletion-requests.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { bodyOf, isNobody, nobody, UsersOfSourcesFields, whyRefused } from './users-of-sources.tsx'

/** Users whose later events a deletion request had dropped, and who are to be heard again. */
export function LiftSuppressions({ onDone }: { onDone: () => void }) {
  const [users, setUsers] = useState(nobody)
  const [problem, setProblem] = useState<string>()
  const body = bodyOf(users)
  const lift = useChange({
    change: () => liftSuppressions(body),
    stale: [],
    onDone: (outcome) => {
      notifications.show({ message: inWords(outcome), color: outcome.lifted === 0 ? 'yellow' : 'teal' })
      onDone()
    },
    onFailed: (error) => setProblem(whyRefused(error, body.userIds)),
  })
  return (
    <FormStack isSaving={lift.isPending}>
      <UnsavedGuard isDirty={!isNobody(users)} />
      <Text size="sm">
        Events that these users send from now on are delivered again. What was erased, or dropped so far, does not come
        back.
      </Text>
      <UsersOfSourcesFields
        value={users}
        onChange={setUsers}
        sourcesDescription="Everywhere, unless you select the sources that the deletion request named"
      />
      <FormProblem title="Not lifted" problem={problem} />
      <Button disabled={body.userIds.length === 0} loading={lift.isPending} onClick={() => lift.mutate()}>
        Lift the suppression of {people(body.userIds.length)}
      </Button>
    </FormStack>
  )
}

const people = (count: number): string => (count === 1 ? '1 user' : `${count.toLocaleString()} users`)

function inWords({ lifted, remaining }: LiftedSuppressions): string {
  const done = lifted === 0 ? 'None of them was suppressed there' : `Events of ${people(lifted)} are delivered again`
  if (remaining === 0) return done
  return `${done}. Still suppressed in all sources: ${people(remaining)}; lift that without selecting sources`
}
