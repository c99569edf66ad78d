import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { RedeliveryPart } from '../../../../src/schemas/delivery.ts'
import { destinationsQuery } from '../../api/destinations.ts'

interface Props {
  /** Destinations of the delivery. */
  destinationIds: string[]
  /** Undefined: to all of them. */
  onChange: (only: RedeliveryPart | undefined) => void
}

/** To whom of several an event is sent again; nothing where there is no choice. */
export function RedeliveryChoice({ destinationIds, onChange }: Props) {
  const destinations = (useQuery(destinationsQuery).data ?? []).filter(({ id }) => destinationIds.includes(id))
  const parts = destinations.flatMap(({ id: destinationId, name, settings: { webhooks } }) => [
    ...(destinations.length > 1 ? [{ label: name, part: { destinationId } }] : []),
    ...(webhooks.length > 1
      ? webhooks.map(({ id, url }) => ({ label: `${name}: ${url}`, part: { endpointId: id } }))
      : []),
  ])
  if (parts.length === 0) return null
  return (
    <Select
      label="To"
      defaultValue="all"
      allowDeselect={false}
      data={[
        { value: 'all', label: 'Each of its destinations' },
        ...parts.map(({ label }, index) => ({ value: String(index), label })),
      ]}
      onChange={(value) => onChange(parts[Number(value)]?.part)}
    />
  )
}
