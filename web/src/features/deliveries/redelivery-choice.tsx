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
  const all = (useQuery(destinationsQuery).data ?? []).filter(({ id }) => destinationIds.includes(id))
  const destinations = all.filter(({ enabled }) => enabled)
  const off = all.filter(({ enabled }) => !enabled).map(({ name }) => name)
  const parts = destinations.flatMap(({ id: destinationId, name, settings: { webhooks } }) => [
    ...(all.length > 1 ? [{ label: name, part: { destinationId } }] : []),
    ...(webhooks.length > 1
      ? webhooks.map(({ id, url }) => ({ label: `${name}: ${url}`, part: { endpointId: id } }))
      : []),
  ])
  if (parts.length === 0) return null
  return (
    <Select
      label="To"
      description={off.length > 0 && `Switched off, so nothing is sent there: ${off.join(', ')}`}
      defaultValue="all"
      allowDeselect={false}
      data={[
        { value: 'all', label: off.length === 0 ? 'Each of its destinations' : 'Each of its destinations that is on' },
        ...parts.map(({ label }, index) => ({ value: String(index), label })),
      ]}
      onChange={(value) => onChange(parts[Number(value)]?.part)}
    />
  )
}
