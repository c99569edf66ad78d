import type { Destination } from '../../../../src/schemas/destination.ts'
import type { Tagged } from '../../api/request.ts'
import { MappingFields } from './mapping-fields.tsx'
import { emptyMapping, mappingField, toMapping, toMappingValues, type MappingValues } from './mapping-form.ts'
import { ShapeSection, type ShapeKind } from './shape-section.tsx'

const mapping: ShapeKind<'mapping', MappingValues> = {
  name: 'mapping',
  title: 'Mapping',
  intro: [
    'Events are sent as they came in. To change them, say what is left out, renamed, set or hashed.',
    'Events are changed so before they are sent. Deliveries under way go on with the mapping that they began with.',
  ],
  json: {
    description: 'As the API takes it. Empty: events are sent as they came in.',
    placeholder: '{ "drop": ["context.ip"] }',
  },
  saved: 'Saved. It changes the events that come in from now on.',
  tried: { title: 'What it makes of the newest events', withNone: false },
  tooDeep: 'A form cannot show this mapping. Go on in JSON.',
  empty: emptyMapping,
  toValues: toMappingValues,
  toShape: toMapping,
  fieldOf: mappingField,
  fields: (form) => <MappingFields form={form} />,
}

/** What becomes of an event before a destination gets it. */
export const MappingSection = ({ destination }: { destination: Tagged<Destination> }) => (
  <ShapeSection destination={destination} kind={mapping} />
)
