import { Button, Group, PasswordInput, Select, Text } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconRefresh } from '@tabler/icons-react'
import { CopyTextButton } from '../../shared/copy.tsx'
import { overlaps } from '../../shared/overlaps.ts'
import { generateSecret, type DestinationValues } from './destination-form.ts'

interface Props {
  form: UseFormReturnType<DestinationValues>
  /** Whether there is a secret already; it is never shown. */
  isSet: boolean
  /** Whether the one that stands here is saved already. */
  isSaved?: boolean
}

/** The secret that signs every request: made here, copied once, never shown again. */
export function SecretField({ form, isSet, isSaved = false }: Props) {
  const secret = form.getValues().sharedSecret
  return (
    <>
      <Group align="flex-end" gap="xs">
        <PasswordInput
          label={isSet ? 'New shared secret' : 'Shared secret'}
          description={
            isSet
              ? 'One is set. Leave this empty to keep it.'
              : 'With a secret, every request carries an X-Signature header that proves it comes from here.'
          }
          placeholder={isSet ? 'Unchanged' : 'None: requests are not signed'}
          autoComplete="new-password"
          style={{ flex: '1 1 18rem' }}
          key={form.key('sharedSecret')}
          {...form.getInputProps('sharedSecret')}
        />
        <Button
          variant="default"
          leftSection={<IconRefresh size={16} aria-hidden />}
          onClick={() => form.setFieldValue('sharedSecret', generateSecret())}
        >
          Generate
        </Button>
        {secret !== '' && <CopyTextButton value={secret} name="secret" />}
      </Group>
      {secret !== '' && (
        <Text size="sm" c="dimmed" mt="xs">
          {isSaved
            ? 'It is saved. Copy it to your receiver now: once you have left this page, it is never shown again.'
            : 'Copy it to your receiver now: once saved, it is never shown again.'}
        </Text>
      )}
      {secret !== '' && isSet && (
        <Select
          label="Keep signing with the old secret for"
          description="First give your receiver both secrets, then save. For this time X-Signature is made with the old secret and webhook-signature has both signatures; afterwards the old secret is no longer used."
          data={overlaps}
          allowDeselect={false}
          maw={420}
          mt="xs"
          {...form.getInputProps('secretOverlapSeconds')}
        />
      )}
    </>
  )
}
