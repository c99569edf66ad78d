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
          {source.previousKeyEnds.length > 0 && <PreviousKeys id={source.id} ends={source.previousKeyEnds} />}
        </Stack>
      ) : (
        <Text size="sm" c="dimmed">
          Only administrators can see write keys.
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
    done: 'The source has a new write key',
  })
  const text =
    overlap === '0'
      ? 'The current key and older ones stop working at once. Events of programs that still use them are rejected, and may be lost.'
      : 'The current key keeps working for the selected time. Give your programs the new key before it ends.'
  return (
    <Group align="flex-end" gap="xs">
      <Select
        label="Keep the old key working for"
        description="Long enough to give your programs the new key; no time if somebody stole the old one"
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
            yes: 'Replace the key',
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

interface PreviousKeysProps {
  id: string
  /** Those that end first first. */
  ends: Source['previousKeyEnds']
}

/** Which replaced keys still work, each until its own time. */
function PreviousKeys({ id, ends }: PreviousKeysProps) {
  const end = useChange({ change: () => endPreviousKeys(id), stale: ['sources'], done: 'The old keys no longer work' })
  return (
    <Alert color="blue" title={ends.length === 1 ? 'An old key still works' : `${ends.length} old keys still work`}>
      <Stack gap="xs" align="flex-start">
        {ends.map(({ keyBegins, expiresAt }) => (
          <Text key={keyBegins} size="sm">
            The old key that begins with {keyBegins} works until {formatTime(expiresAt)}.
          </Text>
        ))}
        <Button
          variant="default"
          size="xs"
          loading={end.isPending}
          onClick={() =>
            confirm({
              title: 'End the old keys?',
              text: 'Events of programs that still use one of them are rejected from now on.',
              yes: 'End the old keys',
              onYes: () => end.mutate(),
            })
          }
        >
          {ends.length === 1 ? 'End it now' : 'End them now'}
        </Button>
      </Stack>
    </Alert>
  )
}
