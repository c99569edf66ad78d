import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { createSource, sourcesQuery } from '../../api/sources.ts'
import { explainAtField } from '../../shared/form-errors.ts'
import { useNames } from '../../shared/names.ts'
import { QueryView } from '../../shared/query-view.tsx'
import { useChange } from '../../shared/use-change.ts'
import type { DestinationValues } from './destination-form.ts'

/** Which sources' events go to the destination; a missing source is made on the spot. */
export function SourceChoice({ form }: { form: UseFormReturnType<DestinationValues> }) {
  const query = useQuery(sourcesQuery)
  const chosen = form.getValues().sourceIds
  const nameOf = useNames(chosen)
  const deleted = chosen.filter((id) => nameOf(id).isDeleted)
  return (
    <Stack>
      <QueryView query={query}>
        {(sources) =>
          sources.length + deleted.length === 0 ? (
            <Text c="dimmed">There is no source yet. Create the first one here.</Text>
          ) : (
            <Checkbox.Group
              label="Sources"
              description="Every event of a selected source is sent, unless a filter of the destination leaves it out."
              key={form.key('sourceIds')}
              {...form.getInputProps('sourceIds')}
            >
              <Stack gap="xs" mt="sm">
                {sources.map(({ id, name, enabled }) => (
                  <Checkbox key={id} value={id} label={enabled ? name : `${name} (switched off)`} />
                ))}
                {deleted.map((id) => (
                  <Checkbox key={id} value={id} label={nameOf(id).name} />
                ))}
              </Stack>
            </Checkbox.Group>
          )
        }
      </QueryView>
      {form.errors['sourceIds'] !== undefined && query.data?.length === 0 && (
        <Text size="sm" c="error">
          {form.errors['sourceIds']}
        </Text>
      )}
      <NewSource form={form} />
    </Stack>
  )
}

function NewSource({ form }: { form: UseFormReturnType<DestinationValues> }) {
  const name = form.getValues().newSource
  const field = useRef<HTMLInputElement>(null)
  const create = useChange({
    change: (typed: string) => createSource({ name: typed }),
    stale: ['sources'],
    onDone: ({ id }, typed) => {
      form.setFieldValue('sourceIds', [...form.getValues().sourceIds, id])
      // What was typed since stays.
      if (form.getValues().newSource === typed) form.setFieldValue('newSource', '')
      // Without a name, the button has no use, and cannot keep the focus.
      field.current?.focus()
    },
    onFailed: (error) => form.setFieldError('newSource', explainAtField(error)),
  })
  const canCreate = name.trim() !== '' && !create.isPending
  return (
    <Group align="flex-end" gap="xs">
      <TextInput
        label="New source"
        ref={field}
        placeholder="Website"
        key={form.key('newSource')}
        {...form.getInputProps('newSource')}
        // The field stands in a larger form, which Enter would submit.
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          event.preventDefault()
          if (canCreate) create.mutate(name)
        }}
      />
      <Button variant="default" disabled={!canCreate} loading={create.isPending} onClick={() => create.mutate(name)}>
        Create source
      </Button>
    </Group>
  )
}
