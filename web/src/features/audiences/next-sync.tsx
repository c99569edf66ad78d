import { Alert, Button, FileInput, Group, Stack, Table, Text } from '@mantine/core'
import { IconEye, IconUpload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Audience, Preview } from '../../../../src/schemas/audience.ts'
import { previewSync, uploadMembers } from '../../api/audiences.ts'
import { destinationsQuery } from '../../api/destinations.ts'
import { CodeBlock } from '../../shared/copy.tsx'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'

/** What the next sync would send; for pushed memberships, from a file that can be uploaded here. */
export function NextSync({ audience }: { audience: Audience }) {
  const [file, setFile] = useState<File | null>(null)
  const isPushed = audience.membership.kind === 'push'
  const preview = useChange({ change: () => previewSync(audience.id, file), stale: [], onFailed: () => {} })
  const upload = useChange({
    change: (members: File) => uploadMembers(audience.id, members),
    stale: ['audiences'],
    done: 'The members are uploaded and are being synced',
    onDone: () => {
      setFile(null)
      preview.reset()
    },
    onFailed: () => {},
  })
  const error = upload.error ?? preview.error
  return (
    <Stack>
      <UnsavedGuard isDirty={file !== null} />
      <Group align="flex-end">
        {isPushed && (
          <FileInput
            label="Members"
            description="All members, as CSV with a column userId or as NDJSON"
            placeholder="Choose a file"
            accept=".csv,.ndjson,.jsonl,text/csv,application/x-ndjson"
            clearable
            clearButtonProps={{ 'aria-label': 'Remove the file' }}
            // Browsers say nothing of a choice of the same file, which may have been changed.
            fileInputProps={{
              onClick: ({ currentTarget }) => {
                currentTarget.value = ''
              },
            }}
            value={file}
            onChange={(chosen) => {
              setFile(chosen)
              preview.reset()
              upload.reset()
            }}
            style={{ flex: '1 1 16rem' }}
          />
        )}
        <Button
          variant="default"
          leftSection={<IconEye size={16} aria-hidden />}
          loading={preview.isPending}
          onClick={() => {
            upload.reset()
            preview.mutate()
          }}
        >
          Preview
        </Button>
        {isPushed && (
          <Button
            leftSection={<IconUpload size={16} aria-hidden />}
            disabled={file === null || (preview.data?.refusal ?? null) !== null}
            loading={upload.isPending}
            onClick={() => file !== null && upload.mutate(file)}
          >
            Upload and sync
          </Button>
        )}
      </Group>
      {error !== null && <ErrorNotice error={error} />}
      {preview.data !== undefined && <PreviewTable preview={preview.data} />}
    </Stack>
  )
}

function PreviewTable({ preview }: { preview: Preview }) {
  const destinations = useQuery(destinationsQuery).data ?? []
  if (preview.refusal !== null)
    return (
      <Alert color="red" role="alert" title="A sync would fail and send nothing">
        {preview.refusal}
        <BadRows preview={preview} />
      </Alert>
    )
  if (preview.destinations.length === 0)
    return <Text size="sm">This audience has no destination yet: a sync would send nothing.</Text>
  const isOff = (destinationId: string): boolean =>
    destinations.some(({ id, enabled }) => id === destinationId && !enabled)
  const sample = preview.destinations.flatMap((told) => (isOff(told.destinationId) ? [] : told.sample))
  return (
    <Stack role="status">
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Destination</Table.Th>
            <Table.Th>Added</Table.Th>
            <Table.Th>Removed</Table.Th>
            <Table.Th visibleFrom="xs">Unchanged</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {preview.destinations.map(({ destinationId, added, removed, unchanged }) => (
            <Table.Tr key={destinationId}>
              <Table.Td dir="auto" style={{ overflowWrap: 'anywhere' }}>
                {destinations.find(({ id }) => id === destinationId)?.name ?? destinationId}
                {isOff(destinationId) && (
                  <Text size="xs" c="dimmed">
                    Switched off: the next sync passes it over
                  </Text>
                )}
              </Table.Td>
              <Table.Td>{added.toLocaleString()}</Table.Td>
              <Table.Td>{removed.toLocaleString()}</Table.Td>
              <Table.Td visibleFrom="xs">{unchanged.toLocaleString()}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      {preview.destinations.some(({ needsConfirmation }) => needsConfirmation) && (
        <Alert color="yellow" title="This removes unusually many members">
          The sync will wait until it is confirmed.
        </Alert>
      )}
      {preview.badRows > 0 && (
        <Alert color="yellow" title={`${preview.badRows} of ${preview.rowsRead} rows cannot be read as members`}>
          <BadRows preview={preview} />
        </Alert>
      )}
      {sample.length > 0 && (
        <div>
          <Text size="sm">The first calls:</Text>
          <CodeBlock name="first Identify calls" value={JSON.stringify(sample, null, 2)} />
        </div>
      )}
    </Stack>
  )
}

const BadRows = ({ preview: { badRowSample } }: { preview: Preview }) =>
  badRowSample.map(({ line, reason }) => (
    <Text key={line} size="sm">
      Line {line}: {reason}
    </Text>
  ))
