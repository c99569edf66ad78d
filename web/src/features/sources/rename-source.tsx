import { Button, Group, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Source } from '../../../../src/schemas/source.ts'
import { changeSource, sourcesQuery } from '../../api/sources.ts'
import { explainAtField } from '../../shared/form-errors.ts'
import { Section } from '../../shared/section.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'

/** Gives the source another name, which no other source has. */
export function RenameSource({ source: { id, name: present } }: { source: Source }) {
  const sources = useQuery(sourcesQuery).data ?? []
  const [name, setName] = useState(present)
  const [problem, setProblem] = useState<string>()
  const save = useChange({
    change: () => changeSource(id, { name: name.trim() }),
    stale: ['sources'],
    done: 'Saved',
    onFailed: (error) => setProblem(explainAtField(error)),
  })
  const isTaken = sources.some((source) => source.id !== id && source.name === name.trim())
  return (
    <Section title="Name">
      <UnsavedGuard isDirty={name.trim() !== present} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setProblem(undefined)
          if (!isTaken) save.mutate()
        }}
      >
        <Group align="flex-start">
          <TextInput
            aria-label="Name"
            required
            w={320}
            value={name}
            error={isTaken ? 'Another source has this name' : problem}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
          />
          <Button
            type="submit"
            variant="default"
            loading={save.isPending}
            disabled={isTaken || name.trim() === present}
          >
            Rename
          </Button>
        </Group>
      </form>
    </Section>
  )
}
