import { Badge, Button, Group, Table, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDisclosure } from '@mantine/hooks'
import { IconBox, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { Activity } from '../../../../src/schemas/activity.ts'
import { createSource, sourcesQuery } from '../../api/sources.ts'
import { activityQuery } from '../../api/system.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { explainAtField } from '../../shared/form-errors.ts'
import { FormStack } from '../../shared/form-stack.tsx'
import { Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { Ago, AgoToTheMinute } from '../../shared/time.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { useLastError } from '../../shared/use-last-error.ts'
import { useCanChange } from '../../shared/use-role.ts'

const refreshMs = 5_000

export function SourcesPage() {
  const query = useQuery({ ...sourcesQuery, refetchInterval: refreshMs })
  const activity = useQuery(activityQuery)
  const figuresError = useLastError(activity)
  const canChange = useCanChange()
  const [isOpen, { open, close }] = useDisclosure()
  const create = canChange && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
      Create a source
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Sources"
        description="A source is a website, app or server that sends events."
        actions={create}
      />
      {figuresError !== null && query.data !== undefined && query.error === null && (
        <QueryView query={activity}>{() => null}</QueryView>
      )}
      <QueryView query={query}>
        {(sources) =>
          sources.length === 0 ? (
            <EmptyState icon={<IconBox aria-hidden />} title="No source yet" action={create}>
              {canChange
                ? 'Create a source to get a write key. With it, your program can send its first event.'
                : 'Only administrators can create one.'}
            </EmptyState>
          ) : (
            <Table verticalSpacing="sm" highlightOnHover>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th {...textColumn}>Name</Table.Th>
                  <Table.Th>State</Table.Th>
                  <Table.Th>Events in 24&nbsp;h</Table.Th>
                  <Table.Th visibleFrom="sm">Latest</Table.Th>
                  <Table.Th visibleFrom="sm">Created</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {sources.map(({ id, name, enabled, createdAt }) => (
                  <Table.Tr key={id}>
                    <Table.Td>
                      <Link to="/sources/$id" params={{ id }} fw={600} dir="auto">
                        {name}
                      </Link>
                    </Table.Td>
                    <Table.Td>
                      {enabled ? (
                        <Badge color="teal" variant="light">
                          On
                        </Badge>
                      ) : (
                        <Badge variant="default">Off</Badge>
                      )}
                    </Table.Td>
                    <ActivityCells activity={activity.data && activityOf(id, activity.data)} />
                    <Table.Td visibleFrom="sm">
                      <Ago at={createdAt} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </QueryView>
      <Dialog opened={isOpen} onClose={close} title="Create a source">
        <CreateForm />
      </Dialog>
    </>
  )
}

type ActivityOfSource = Omit<Activity['sources'][number], 'lastEventAt'> & { lastEventAt?: string }

/** A source that sent nothing is not among the figures. */
const activityOf = (sourceId: string, { sources }: Activity): ActivityOfSource =>
  sources.find((source) => source.sourceId === sourceId) ?? { sourceId, received: 0, rejected: 0 }

/** How many events came and were rejected, and when the latest came; nothing as long as that is not known. */
function ActivityCells({ activity }: { activity: ActivityOfSource | undefined }) {
  if (activity === undefined)
    return (
      <>
        <Table.Td />
        <Table.Td visibleFrom="sm" />
      </>
    )
  const { received, rejected, lastEventAt } = activity
  return (
    <>
      <Table.Td>
        {received.toLocaleString()}
        {rejected > 0 && (
          <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
            {rejected.toLocaleString()} rejected
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="sm">{lastEventAt === undefined ? '–' : <AgoToTheMinute at={lastEventAt} />}</Table.Td>
    </>
  )
}

function CreateForm() {
  const navigate = useNavigate()
  const form = useForm({ mode: 'controlled', initialValues: { name: '' } })
  const create = useChange({
    change: createSource,
    stale: ['sources'],
    onDone: ({ id }) => void navigate({ to: '/sources/$id', params: { id }, ignoreBlocker: true }),
    onFailed: (error) => form.setFieldError('name', explainAtField(error)),
  })
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
      <UnsavedGuard isDirty={form.isDirty()} />
      <FormStack isSaving={create.isPending}>
        <TextInput
          label="Name"
          description="What sends the events, for example “Website” or “Billing server”"
          required
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Group justify="flex-end">
          <Button type="submit" loading={create.isPending}>
            Create
          </Button>
        </Group>
      </FormStack>
    </form>
  )
}
