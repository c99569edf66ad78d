import { Alert, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useState } from 'react'
import type { Source } from '../../../../src/schemas/source.ts'
import { endPreviousKeys, rotateWriteKey } from '../../api/sources.ts'
import { confirm } from '../../shared/confirm.tsx'
import { CopyTextButton } from '../../shared/copy.tsx'
import { overlaps } from '../../shared/overlaps.ts'
import { Section } from '../../shared/section.tsx'
import { formatTime } from '../../shared/time.tsx'
import { useChange } from '../../shared/use-change.ts'

/** What programs send with their events; it can be replaced, with a time in which both keys work. */
export function WriteKey({ source, canChange }: { source: Source; canChange: boolean }) {
  return (
    <Section title="Write key">
      {canChange ? (
        <Stack gap="sm">
          <Group align="flex-end" gap="xs">
            <TextInput
              aria-label="Write key"
              readOnly
              value={source.writeKey}
              ff="monospace"
              style={{ flex: '1 1 16rem' }}
              onFocus={({ currentTarget }) => currentTarget.select()}
            />
            <CopyTextButton value={source.writeKey} name="write key" />
          </Group>
          <Rotation id={source.id} />
          {source.previousKeyExpiresAt !== null && (
            <PreviousKeys id={source.id} expiresAt={source.previousKeyExpiresAt} />
          )}
        </Stack>
      ) : (
        <Text size="sm" c="dimmed">
          Write keys are shown to administrators alone.
        </Text>
      )}
    </Section>
  )
}

function Rotation({ id }: { id: string }) {
  const [overlap, setOverlap] = useState(String(24 * 3_600))
  const rotate = useChange({
    change: () => rotateWriteKey(id, { overlapSeconds: Number(overlap) }),
    stale: ['sources'],
    done: 'A new write key is in force',
  })
  const text =
    overlap === '0'
      ? 'The present key stops working at once, and so do earlier ones: programs that still use them are refused, and most of them drop what they hold.'
      : 'The present key goes on working for the time chosen. Give the new one to your programs before it is over.'
  return (
    <Group align="flex-end" gap="xs">
      <Select
        label="When it is replaced, the old key goes on working"
        description="Choose a time so that no events are lost; not at all when the key is in wrong hands"
        data={overlaps}
        allowDeselect={false}
        value={overlap}
        onChange={(value) => setOverlap(value ?? '0')}
      />
      <Button
        variant="default"
        leftSection={<IconRefresh size={16} aria-hidden />}
        loading={rotate.isPending}
        onClick={() =>
          confirm({
            title: 'Replace the write key?',
            text,
            yes: 'Replace it',
            dangerous: overlap === '0',
            onYes: () => rotate.mutate(),
          })
        }
      >
        Rotate
      </Button>
    </Group>
  )
}

function PreviousKeys({ id, expiresAt }: { id: string; expiresAt: string }) {
  const end = useChange({ change: () => endPreviousKeys(id), stale: ['sources'], done: 'The earlier keys have ended' })
  return (
    <Alert color="blue" title={`An earlier key works until ${formatTime(expiresAt)}`}>
      <Button
        variant="default"
        size="xs"
        loading={end.isPending}
        onClick={() =>
          confirm({
            title: 'End the earlier keys?',
            text: 'Programs that still use one of them are refused from now on.',
            yes: 'End them',
            onYes: () => end.mutate(),
          })
        }
      >
        End it now
      </Button>
    </Alert>
  )
}
