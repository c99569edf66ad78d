import type { Destination } from '../../../../src/schemas/destination.ts'
import type { Tagged } from '../../api/request.ts'
import { FilterFields } from './filter-fields.tsx'
import { emptyFilter, filterField, toFilter, toFilterValues, type FilterValues } from './filter-form.ts'
import { ShapeSection, type ShapeKind } from './shape-section.tsx'

const filter: ShapeKind<'filter', FilterValues> = {
  name: 'filter',
  title: 'Filter',
  intro: [
    'It takes all events of its sources. To leave some out, say which it takes: an event must fit all that you fill in.',
    'It takes the events that fit all of this. What no destination takes is under “Turned away” for 24 hours.',
  ],
  json: {
    description: 'As the API takes it; with all, any and not, rules can be nested. Empty: all events.',
    placeholder: '{ "events": ["Order *"] }',
  },
  saved: 'Saved. It decides about the events that come in from now on.',
  tried: { title: 'Tried on the newest events', withNone: true },
  tooDeep: 'A form cannot show these rules. Go on in JSON.',
  empty: emptyFilter,
  toValues: toFilterValues,
  toShape: toFilter,
  fieldOf: filterField,
  fields: (form) => <FilterFields form={form} />,
}

/** Which events of its sources a destination takes. */
export const FilterSection = ({ destination }: { destination: Tagged<Destination> }) => (
  <ShapeSection destination={destination} kind={filter} />
)
