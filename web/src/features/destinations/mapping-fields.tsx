import {
  ActionIcon,
  Button,
  Fieldset,
  Group,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
  Tooltip,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useRef } from 'react'
import { monospaced } from '../../shared/monospaced.ts'
import { addRow, removeRow } from '../../shared/rows.ts'
import { emptyPlace, rowBefore, type MappingValues } from './mapping-form.ts'

interface Props {
  form: UseFormReturnType<MappingValues>
}

const lists = [
  {
    name: 'keep',
    label: 'Keep only',
    description: 'Everything else is left out. Empty: nothing is left out. Press Enter after each path.',
    placeholder: 'properties',
  },
  { name: 'drop', label: 'Drop', description: 'The values at these paths are left out.', placeholder: 'context.ip' },
  {
    name: 'hash',
    label: 'Hash',
    description: 'The SHA-256 is sent in the place of the value; of an e-mail address trimmed and in lower case.',
    placeholder: 'traits.email',
  },
] as const

/** Steps in the order in which they are applied. */
export function MappingFields({ form }: Props) {
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        A path leads to a value of the event, such as context.ip or properties.products.0.sku. The steps are applied
        from top to bottom, each to what the one before left. For example, context.ip under Drop keeps the address of
        the visitor back, and traits.email under Hash sends 64 digits in the place of the e-mail address.
      </Text>
      {lists.map(({ name, ...texts }) => (
        <TagsInput key={form.key(name)} {...texts} acceptValueOnBlur {...form.getInputProps(name)} />
      ))}
      <PlaceFields
        form={form}
        member="rename"
        legend="Rename"
        note="Moves a value from one path to another."
        one="renaming"
        labels={['Path', 'New path']}
        placeholders={['properties.total', 'properties.amount']}
      />
      <PlaceFields
        form={form}
        member="set"
        legend="Set"
        note={'Puts a value at a path. Numbers, true, false and null count as such; in quotes, as "5", they are texts.'}
        one="value"
        labels={['Path', 'Value']}
        placeholders={['properties.currency', 'EUR']}
      />
      <Textarea
        label="Expression"
        description="For more than that: JSONata that makes the object to be sent of what the steps above left."
        placeholder={`$merge([$, { "total": $sum(properties.items.price) }])`}
        autosize
        minRows={3}
        styles={monospaced}
        key={form.key('expression')}
        {...form.getInputProps('expression')}
      />
    </Stack>
  )
}

interface PlacesProps extends Props {
  member: 'rename' | 'set'
  legend: string
  note: string
  /** What a row is called. */
  one: string
  labels: readonly [string, string]
  placeholders: readonly [string, string]
}

function PlaceFields({ form, member, legend, note, one, labels, placeholders }: PlacesProps) {
  const [pathLabel, valueLabel] = labels
  const addButton = useRef<HTMLButtonElement>(null)
  const propsOf = (index: number, text: 'path' | 'value', label: string) => {
    const before = rowBefore(form.getValues(), member, index, text)
    return {
      'aria-label': `${label} of ${one} ${index + 1}`,
      ...form.getInputProps(`${member}.${index}.${text}`),
      ...(before !== undefined && { error: `The ${label.toLowerCase()} of ${one} ${before + 1} is the same` }),
    }
  }
  return (
    <Fieldset legend={legend}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {note}
        </Text>
        {form.getValues()[member].map(({ key }, index) => (
          <Group key={key} gap="xs" align="flex-start" wrap="nowrap">
            <TextInput
              placeholder={placeholders[0]}
              style={{ flex: 1 }}
              key={form.key(`${member}.${index}.path`)}
              {...propsOf(index, 'path', pathLabel)}
            />
            <TextInput
              placeholder={placeholders[1]}
              style={{ flex: 1 }}
              key={form.key(`${member}.${index}.value`)}
              {...propsOf(index, 'value', valueLabel)}
            />
            <Tooltip label={`Remove ${one} ${index + 1}`}>
              <ActionIcon
                size={36}
                variant="default"
                aria-label={`Remove ${one} ${index + 1}`}
                onClick={() => removeRow(addButton, () => form.removeListItem(member, index))}
              >
                <IconTrash size={16} aria-hidden />
              </ActionIcon>
            </Tooltip>
          </Group>
        ))}
        <Button
          ref={addButton}
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => addRow(addButton, () => form.insertListItem(member, emptyPlace()))}
          style={{ alignSelf: 'flex-start' }}
        >
          Add a {one}
        </Button>
      </Stack>
    </Fieldset>
  )
}
