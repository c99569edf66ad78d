import { Select, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { RedeliveryPart } from '../../../../src/schemas/delivery.ts'
import { destinationsQuery } from '../../api/destinations.ts'

/** To whom an event can be sent again. */
export interface RepeatableAt {
  destinationIds: readonly string[]
  /** Whether these are all destinations of the delivery. If not, it goes on at the others, and one of these is to be chosen. */
  areAll: boolean
  /** Whether it was sent to one endpoint that was chosen, which stays chosen. */
  isChosenEndpoint: boolean
}

/** One that can be chosen. */
interface Part {
  label: string
  part: RedeliveryPart
}

interface Props {
  at: RepeatableAt
  /** What is chosen. Undefined: all of them, or none yet. */
  only: RedeliveryPart | undefined
  /** Undefined: to all of them. */
  onChange: (only: RedeliveryPart | undefined) => void
}

/** To whom of several an event is sent again; nothing where there is no choice. */
export function RedeliveryChoice({ at: { destinationIds, areAll, isChosenEndpoint }, only, onChange }: Props) {
  const all = (useQuery(destinationsQuery).data ?? []).filter(({ id }) => destinationIds.includes(id))
  const destinations = all.filter(({ enabled }) => enabled)
  const off = all.filter(({ enabled }) => !enabled).map(({ name }) => name)
  const parts = destinations.flatMap(({ id: destinationId, name, settings: { webhooks } }): Part[] => [
    ...(all.length > 1 || !areAll ? [{ label: name, part: { destinationId } }] : []),
    ...(webhooks.length > 1
      ? webhooks.map(({ id, url }) => ({ label: `${name}: ${url}`, part: { endpointId: id } }))
      : []),
  ])
  const offText = off.length > 0 && `Switched off, so nothing is sent there: ${off.join(', ')}`
  if (parts.length === 0) return areAll ? null : <Text size="sm">{offText}</Text>
  const ofDestinations = off.length === 0 ? 'Each of its destinations' : 'Each of its destinations that is on'
  const allLabel = isChosenEndpoint ? 'The same endpoint as before' : ofDestinations
  return (
    <Select
      label="To"
      description={offText}
      {...(!areAll && { placeholder: 'A destination where it has ended', required: true })}
      value={only === undefined ? (areAll ? 'all' : null) : idOf(only)}
      allowDeselect={false}
      data={[
        ...(areAll ? [{ value: 'all', label: allLabel }] : []),
        // What there is to choose from may change while one is chosen: places would then tell another.
        ...parts.map(({ label, part }) => ({ value: idOf(part), label })),
      ]}
      onChange={(value) => onChange(parts.find(({ part }) => idOf(part) === value)?.part)}
    />
  )
}

const idOf = ({ destinationId, endpointId }: RedeliveryPart): string => destinationId ?? endpointId ?? ''
