import { Button, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus, IconUsers } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { audiencesQuery } from '../../api/audiences.ts'
import { Dialog } from '../../shared/dialog.tsx'
import { EmptyState } from '../../shared/empty-state.tsx'
import { Link } from '../../shared/link.tsx'
import { PageHeader } from '../../shared/page-header.tsx'
import { QueryView } from '../../shared/query-view.tsx'
import { textColumn } from '../../shared/text-column.ts'
import { useCanChange } from '../../shared/use-role.ts'
import { CreateAudience } from './create-audience.tsx'
import { describeMembership, describeSchedule } from './describe.ts'

/** How often the list is read again, in milliseconds: syncs change the members. */
const refreshMs = 5_000

export function AudiencesPage() {
  const query = useQuery({ ...audiencesQuery, refetchInterval: refreshMs })
  const canChange = useCanChange()
  const [isOpen, { open, close }] = useDisclosure()
  const create = canChange && (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
      Create an audience
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Audiences"
        description="Groups of users. Each sync tells the destinations who joined and who left."
        actions={create}
      />
      <QueryView query={query}>
        {(audiences) =>
          audiences.length === 0 ? (
            <EmptyState icon={<IconUsers aria-hidden />} title="No audience yet" action={create}>
              {canChange
                ? 'Create an audience, then upload its members as a file, or let Postrider fetch them from a URL or a database.'
                : 'Only administrators can create one.'}
            </EmptyState>
          ) : (
            <Table verticalSpacing="sm" highlightOnHover>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th {...textColumn}>Name</Table.Th>
                  <Table.Th>Members</Table.Th>
                  <Table.Th visibleFrom="sm" {...textColumn}>
                    From
                  </Table.Th>
                  <Table.Th visibleFrom="sm" {...textColumn}>
                    Schedule
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {audiences.map((audience) => (
                  <Table.Tr key={audience.id}>
                    <Table.Td>
                      <Link to="/audiences/$id" params={{ id: audience.id }} fw={600} dir="auto">
                        {audience.name}
                      </Link>
                    </Table.Td>
                    <Table.Td>{audience.members.toLocaleString()}</Table.Td>
                    <Table.Td visibleFrom="sm">{describeMembership(audience.membership)}</Table.Td>
                    <Table.Td visibleFrom="sm">{describeSchedule(audience)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </QueryView>
      <Dialog opened={isOpen} onClose={close} title="Create an audience" size="lg">
        <CreateAudience />
      </Dialog>
    </>
  )
}
