import { ActionIcon, Alert, Badge, Button, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconKey, IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { Role } from '../../../../src/schemas/access.ts'
import { createToken, revokeToken, tokensQuery } from '../../api/system.ts'
import { confirm } from '../../shared/confirm.tsx'
import { CodeBlock } from '../../shared/copy.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { placeError } from '../../shared/form-errors.ts'
import { FormStack } from '../../shared/form-stack.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago } from '../../shared/time.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useCanChange } from '../../shared/use-role.ts'

const roleChoices: { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer: can see everything but secrets' },
  { value: 'admin', label: 'Admin: can do everything' },
]

/** API tokens: made, shown once, revoked. */
export function Tokens() {
  const query = useQuery(tokensQuery)
  const canChange = useCanChange()
  return (
    <Stack gap="lg">
      {canChange && <NewToken />}
      <QueryView query={query}>
        {(tokens) =>
          tokens.length === 0 ? (
            <EmptyState icon={<IconKey aria-hidden />} title="No API token yet">
              {canChange
                ? 'Create one for each program or person that uses the management API or this app.'
                : 'Only administrators can create one.'}
            </EmptyState>
          ) : (
            <Table verticalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th {...textColumn}>Name</Table.Th>
                  <Table.Th>Role</Table.Th>
                  <Table.Th visibleFrom="sm">Created</Table.Th>
                  <Table.Th visibleFrom="xs">Last used</Table.Th>
                  {canChange && <Table.Th w={48}>Revoke</Table.Th>}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {tokens.map(({ id, name, role, createdAt, lastUsedAt }) => (
                  <Table.Tr key={id}>
                    <Table.Td style={{ overflowWrap: 'anywhere' }} dir="auto">
                      {name}
                    </Table.Td>
                    <Table.Td>
                      <Badge variant="default">{role}</Badge>
                    </Table.Td>
                    <Table.Td visibleFrom="sm">
                      <Ago at={createdAt} />
                    </Table.Td>
                    <Table.Td visibleFrom="xs">{lastUsedAt === null ? 'never' : <Ago at={lastUsedAt} />}</Table.Td>
                    {canChange && (
                      <Table.Td>
                        <Revoke id={id} name={name} />
                      </Table.Td>
                    )}
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </QueryView>
    </Stack>
  )
}

function NewToken() {
  const form = useForm<{ name: string; role: Role }>({
    mode: 'controlled',
    initialValues: { name: '', role: 'viewer' },
  })
  const create = useChange({
    change: createToken,
    stale: ['tokens'],
    onDone: () => form.reset(),
    onFailed: (error) => {
      const sentence = placeError(error, (path) => path, form.setFieldError)
      if (sentence !== undefined) form.setFieldError('name', sentence)
    },
  })
  return (
    <Stack>
      <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <UnsavedGuard isDirty={form.isDirty()} />
        <FormStack isSaving={create.isPending}>
          <Group align="flex-end" gap="sm">
            <TextInput label="Name" placeholder="CI" required {...form.getInputProps('name')} />
            <Select label="Role" data={roleChoices} allowDeselect={false} w={300} {...form.getInputProps('role')} />
            <Button type="submit" loading={create.isPending}>
              Create token
            </Button>
          </Group>
        </FormStack>
      </form>
      {create.data !== undefined && (
        <Alert color="teal" title={`Token “${create.data.name}”: copy it now`} role="status">
          <Stack gap="xs">
            <Text size="sm">Only its hash is kept. It cannot be shown again.</Text>
            <CodeBlock name="token" value={create.data.token} />
          </Stack>
        </Alert>
      )}
    </Stack>
  )
}

function Revoke({ id, name }: { id: string; name: string }) {
  const revoke = useChange({ change: () => revokeToken(id), stale: ['tokens'], done: `${name} has been revoked` })
  return (
    <ActionIcon
      variant="default"
      aria-label={`Revoke ${name}`}
      loading={revoke.isPending}
      onClick={() =>
        confirm({
          title: `Revoke ${name}?`,
          text: 'Programs and people that use it are signed out at once.',
          yes: 'Revoke the token',
          onYes: () => revoke.mutate(),
        })
      }
    >
      <IconTrash size={16} aria-hidden />
    </ActionIcon>
  )
}
