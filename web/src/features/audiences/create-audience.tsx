import { Button, Group, MultiSelect, PasswordInput, Radio, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createAudience } from '../../api/audiences.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { placeError } from '../../shared/form-errors.ts'
import { FormProblem } from '../../shared/form-problem.tsx'
import { FormStack } from '../../shared/form-stack.tsx'
import { monospaced } from '../../shared/monospaced.ts'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { ScheduleFields } from './schedule-fields.tsx'
import { emptyAudience, fieldOf, headersError, toNewAudience, type AudienceValues } from './audience-form.ts'
import { FormatField } from './format-field.tsx'

export function CreateAudience() {
  const navigate = useNavigate()
  const destinations = useQuery(destinationsQuery).data ?? []
  const [problem, setProblem] = useState<string>()
  const form = useForm<AudienceValues>({
    mode: 'controlled',
    initialValues: emptyAudience,
    validate: { headers: (lines, { from }) => (from === 'http' ? headersError(lines) : null) },
  })
  const create = useChange({
    change: (values: AudienceValues) => createAudience(toNewAudience(values)),
    stale: ['audiences'],
    onDone: ({ id }) => void navigate({ to: '/audiences/$id', params: { id }, ignoreBlocker: true }),
    onFailed: (error) => setProblem(placeError(error, fieldOf, form.setFieldError)),
  })
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
      <UnsavedGuard isDirty={form.isDirty()} />
      <FormStack isSaving={create.isPending}>
        <TextInput
          label="Name"
          description="Receivers get it in snake_case, as a trait of the user"
          required
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Radio.Group label="What is sent" {...form.getInputProps('kind')}>
          <Stack gap="xs" mt="xs">
            <Radio value="audience" label="Membership: true for members, false for users who left" />
            <Radio value="trait" label="A computed trait: a value for each user" />
          </Stack>
        </Radio.Group>
        <MultiSelect
          label="Destinations"
          data={destinations.map(({ id, name }) => ({ value: id, label: name }))}
          {...form.getInputProps('destinationIds')}
        />
        <Select
          label="Members come from"
          allowDeselect={false}
          data={[
            { value: 'push', label: 'Uploads: a file here, or the API' },
            { value: 'http', label: 'A file at a URL' },
            { value: 'sql', label: 'A query on a PostgreSQL database' },
          ]}
          {...form.getInputProps('from')}
        />
        <Origin form={form} />
        <FormProblem title="Not created" problem={problem} />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Group>
      </FormStack>
    </form>
  )
}

function Origin({ form }: { form: UseFormReturnType<AudienceValues> }) {
  const { from } = form.getValues()
  if (from === 'push') return null
  return (
    <>
      {from === 'http' ? (
        <>
          <TextInput
            label="URL"
            required
            placeholder="https://example.com/members.ndjson"
            {...form.getInputProps('url')}
          />
          <Textarea
            label="Headers"
            description="One per line"
            placeholder="Authorization: Bearer …"
            autosize
            minRows={2}
            {...form.getInputProps('headers')}
          />
          <FormatField form={form} />
        </>
      ) : (
        <>
          <PasswordInput
            label="Connection"
            required
            description="Uses TLS and checks the certificate; add ?sslmode=disable for a server without TLS"
            placeholder="postgres://user:password@host:5432/database"
            autoComplete="new-password"
            {...form.getInputProps('connectionString')}
          />
          <Textarea
            label="Query"
            description="Must return a column user_id; other columns become traits"
            required
            autosize
            minRows={3}
            styles={monospaced}
            {...form.getInputProps('query')}
          />
        </>
      )}
      <ScheduleFields form={form} />
    </>
  )
}
