import { ActionIcon, Button, Fieldset, Group, PasswordInput, Stack, TextInput, Tooltip } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useRef } from 'react'
import { addRow, removeRow } from '../../shared/rows.ts'
import { DraftTest } from './draft-test.tsx'
import { EndpointOptions } from './endpoint-options.tsx'
import { emptyEndpoint, emptyHeader, maxEndpoints, type DestinationValues } from './destination-form.ts'

interface Props {
  form: UseFormReturnType<DestinationValues>
  /** The destination that is changed here; absent before it is saved. */
  destinationId?: string | undefined
}

/** Up to five URLs, each with the headers that go with every request to it, and each tested on the spot. */
export function EndpointFields({ form, destinationId }: Props) {
  const { webhooks } = form.getValues()
  const addButton = useRef<HTMLButtonElement>(null)
  return (
    <Stack>
      {webhooks.map((webhook, index) => (
        <Fieldset key={webhook.key} legend={`Endpoint ${index + 1}`}>
          <Stack gap="sm">
            <Group align="flex-start" wrap="nowrap" gap="xs">
              <TextInput
                label="URL"
                placeholder="https://example.com/hooks/postrider"
                inputMode="url"
                style={{ flex: 1 }}
                key={form.key(`webhooks.${index}.url`)}
                {...form.getInputProps(`webhooks.${index}.url`)}
              />
              {webhooks.length > 1 && (
                <Tooltip label={`Remove endpoint ${index + 1}`}>
                  <ActionIcon
                    mt={25}
                    size={36}
                    variant="default"
                    aria-label={`Remove endpoint ${index + 1}`}
                    onClick={() => removeRow(addButton, () => form.removeListItem('webhooks', index))}
                  >
                    <IconTrash size={16} aria-hidden />
                  </ActionIcon>
                </Tooltip>
              )}
            </Group>
            <HeaderFields form={form} endpoint={index} />
            <EndpointOptions form={form} endpoint={index} />
            <DraftTest form={form} endpoint={index} destinationId={destinationId} />
          </Stack>
        </Fieldset>
      ))}
      <Button
        ref={addButton}
        variant="default"
        leftSection={<IconPlus size={16} aria-hidden />}
        disabled={webhooks.length >= maxEndpoints}
        onClick={() => addRow(addButton, () => form.insertListItem('webhooks', emptyEndpoint()))}
        style={{ alignSelf: 'flex-start' }}
      >
        {webhooks.length >= maxEndpoints ? 'A destination can have five endpoints' : 'Add an endpoint'}
      </Button>
    </Stack>
  )
}

function HeaderFields({ form, endpoint }: Pick<Props, 'form'> & { endpoint: number }) {
  const path = `webhooks.${endpoint}.headers`
  const headers = form.getValues().webhooks[endpoint]?.headers ?? []
  const addButton = useRef<HTMLButtonElement>(null)
  return (
    <Stack gap="xs">
      {headers.map((header, index) => (
        <Group key={header.key} gap="xs" align="flex-start" wrap="nowrap">
          <TextInput
            aria-label={`Name of header ${index + 1}`}
            placeholder="Authorization"
            style={{ flex: 2 }}
            key={form.key(`${path}.${index}.name`)}
            {...form.getInputProps(`${path}.${index}.name`)}
          />
          <PasswordInput
            aria-label={`Value of header ${index + 1}`}
            placeholder="Bearer …"
            autoComplete="new-password"
            style={{ flex: 3 }}
            key={form.key(`${path}.${index}.value`)}
            {...form.getInputProps(`${path}.${index}.value`)}
          />
          <ActionIcon
            size={36}
            variant="default"
            aria-label={`Remove header ${index + 1}`}
            onClick={() => removeRow(addButton, () => form.removeListItem(path, index))}
          >
            <IconTrash size={16} aria-hidden />
          </ActionIcon>
        </Group>
      ))}
      <Button
        ref={addButton}
        variant="subtle"
        size="xs"
        leftSection={<IconPlus size={14} aria-hidden />}
        onClick={() => addRow(addButton, () => form.insertListItem(path, emptyHeader()))}
        style={{ alignSelf: 'flex-start' }}
      >
        Add a header
      </Button>
    </Stack>
  )
}
