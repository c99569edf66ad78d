import { Button, Group, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Source } from '../../../../src/schemas/source.ts'
import type { Tagged } from '../../api/request.ts'
import { changeSource, sourceQuery, sourcesQuery } from '../../api/sources.ts'
import { ChangedMeanwhile, isChangedMeanwhile } from '../../shared/changed-meanwhile.tsx'
import { explainAtField } from '../../shared/form-errors.ts'
import { FormStack } from '../../shared/form-stack.tsx'
import { Section } from '../../shared/section.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'

/** A name that is typed, and the tag of the source that it began with. */
interface Edit {
  name: string
  etag: string | null
}

/** Gives the source another name, which no other source has. */
export function RenameSource({ current: { answer: source, etag } }: { current: Tagged<Source> }) {
  const { id } = source
  const client = useQueryClient()
  const sources = useQuery(sourcesQuery).data ?? []
  const [edit, setEdit] = useState<Edit>()
  const [problem, setProblem] = useState<string>()
  const name = (edit?.name ?? source.name).trim()
  const save = useChange({
    change: (ifMatch: string | null) => changeSource(id, { name }, ifMatch),
    stale: ['sources'],
    done: 'Saved',
    onDone: (saved) => {
      client.setQueryData(sourceQuery(id).queryKey, saved)
      setEdit(undefined)
    },
    onFailed: (error) => setProblem(isChangedMeanwhile(error) ? undefined : explainAtField(error)),
  })
  const reload = (): void => {
    save.reset()
    setEdit(undefined)
    void client.invalidateQueries({ queryKey: ['sources'] })
  }
  const isTaken = sources.some((other) => other.id !== id && other.name === name)
  const isDirty = name !== source.name
  return (
    <Section title="Name">
      <UnsavedGuard isDirty={isDirty} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          setProblem(undefined)
          if (!isTaken) save.mutate(edit?.etag ?? null)
        }}
      >
        <FormStack isSaving={save.isPending}>
          <Group align="flex-start">
            <TextInput
              aria-label="Name"
              required
              w={320}
              value={edit?.name ?? source.name}
              error={isTaken ? 'Another source has this name' : problem}
              onChange={({ currentTarget }) => setEdit({ etag, ...edit, name: currentTarget.value })}
            />
            <Button type="submit" variant="default" loading={save.isPending} disabled={isTaken || !isDirty}>
              Rename
            </Button>
          </Group>
          <ChangedMeanwhile
            error={save.error}
            labels={{ name: 'Name' }}
            isSaving={save.isPending}
            onReload={reload}
            onOverwrite={() => save.mutate(null)}
          />
        </FormStack>
      </form>
    </Section>
  )
}
