import {
  ActionIcon,
  Button,
  Checkbox,
  Fieldset,
  Group,
  NativeSelect,
  NumberInput,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Tooltip,
} from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useRef } from 'react'
import { eventTypes } from '../../shared/message-types.ts'
import { addRow, removeRow } from '../../shared/rows.ts'
import { emptyRule, operatorNames, type FilterValues } from './filter-form.ts'

interface Props {
  form: UseFormReturnType<FilterValues>
}

const operators = Object.entries(operatorNames).map(([value, label]) => ({ value, label }))

/** Most rules that the form has; more fit into JSON. */
const maxFormRules = 50

/** Types, names, rules and a share: an event must fit all that is filled in. */
export function FilterFields({ form }: Props) {
  return (
    <Stack>
      <Checkbox.Group
        label="Types"
        description="None selected: calls of all types."
        key={form.key('types')}
        {...form.getInputProps('types')}
      >
        <Group mt="xs">
          {eventTypes.map((type) => (
            <Checkbox key={type} value={type} label={type} />
          ))}
        </Group>
      </Checkbox.Group>
      <TagsInput
        label="Names of events"
        description="Of track calls, pages and screens; * stands for any characters: Order * takes Order Paid and leaves Signed Up out. Empty: all, also calls without a name. Press Enter after each."
        placeholder="Order *"
        acceptValueOnBlur
        key={form.key('events')}
        {...form.getInputProps('events')}
      />
      <RuleFields form={form} />
      <NumberInput
        label="Share of the users"
        description="Of a user all events or none, always the same users. Empty: all."
        suffix=" %"
        min={0}
        max={100}
        maw={240}
        key={form.key('samplePercent')}
        {...form.getInputProps('samplePercent')}
      />
    </Stack>
  )
}

function RuleFields({ form }: Props) {
  const { rules } = form.getValues()
  const addButton = useRef<HTMLButtonElement>(null)
  return (
    <Fieldset legend="Rules over the content">
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          A path leads to a value of the event as endpoints receive it, such as properties.total or
          properties.products.0.sku. Numbers, true, false and null count as such; in quotes, as "5", they are texts. For
          example, properties.total is greater than 100 takes orders of more than 100, and no event without a total.
        </Text>
        {rules.length > 1 && (
          <NativeSelect
            label="Takes an event when"
            maw={240}
            data={[
              { value: 'all', label: 'all of them hold' },
              { value: 'any', label: 'at least one holds' },
            ]}
            key={form.key('combine')}
            {...form.getInputProps('combine')}
          />
        )}
        {rules.map(({ key }, index) => (
          <RuleRow
            key={key}
            form={form}
            index={index}
            onRemove={() => removeRow(addButton, () => form.removeListItem('rules', index))}
          />
        ))}
        <Button
          ref={addButton}
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
          disabled={rules.length >= maxFormRules}
          onClick={() => addRow(addButton, () => form.insertListItem('rules', emptyRule()))}
          style={{ alignSelf: 'flex-start' }}
        >
          Add a rule
        </Button>
      </Stack>
    </Fieldset>
  )
}

function RuleRow({ form, index, onRemove }: Props & { index: number; onRemove: () => void }) {
  const at = `rules.${index}`
  const number = index + 1
  const rule = form.getValues().rules[index]
  return (
    <Group gap="xs" align="flex-start" role="group" aria-label={`Rule ${number}`}>
      <NativeSelect
        aria-label={`Whether rule ${number} must hold`}
        w={110}
        data={[
          { value: 'yes', label: 'Must' },
          { value: 'no', label: 'Must not' },
        ]}
        value={rule?.isNot === true ? 'no' : 'yes'}
        onChange={({ currentTarget }) => form.setFieldValue(`${at}.isNot`, currentTarget.value === 'no')}
      />
      <TextInput
        aria-label={`Path of rule ${number}`}
        placeholder="properties.total"
        style={{ flex: '2 1 11rem' }}
        key={form.key(`${at}.path`)}
        {...form.getInputProps(`${at}.path`)}
      />
      <NativeSelect
        aria-label={`Operator of rule ${number}`}
        w={150}
        data={operators}
        key={form.key(`${at}.op`)}
        {...form.getInputProps(`${at}.op`)}
      />
      <RuleValue form={form} index={index} />
      <Tooltip label={`Remove rule ${number}`}>
        <ActionIcon size={36} variant="default" aria-label={`Remove rule ${number}`} onClick={onRemove}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      </Tooltip>
    </Group>
  )
}

function RuleValue({ form, index }: Props & { index: number }) {
  const op = form.getValues().rules[index]?.op
  const number = index + 1
  const style = { flex: '2 1 11rem' }
  if (op === 'exists') return null
  if (op === 'oneOf')
    return (
      <TagsInput
        aria-label={`Values of rule ${number}`}
        placeholder="EUR"
        acceptValueOnBlur
        style={style}
        key={form.key(`rules.${index}.values`)}
        {...form.getInputProps(`rules.${index}.values`)}
        error={form.errors[`rules.${index}.value`]}
      />
    )
  return (
    <TextInput
      aria-label={`Value of rule ${number}`}
      placeholder={op === 'glob' ? 'Order *' : '100'}
      style={style}
      key={form.key(`rules.${index}.value`)}
      {...form.getInputProps(`rules.${index}.value`)}
    />
  )
}
