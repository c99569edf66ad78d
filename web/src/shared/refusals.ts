import type { EventFaultCode } from '../../../src/schemas/source-event.ts'

/** Why the door turns an event away beside its own faults. */
type RequestFaultCode =
  | 'empty_batch'
  | 'filtered_by_rules'
  | 'inbox_full'
  | 'request_timeout'
  | 'source_disabled'
  | 'too_large'
  | 'too_many_requests'
  | 'unavailable'
  | 'unknown_write_key'
  | 'unsupported_media_type'

const texts: Record<EventFaultCode | RequestFaultCode, string> = {
  bad_request: 'The request could not be read.',
  call_too_large: 'The event was too large.',
  context_not_object: 'Its context was not an object.',
  empty_batch: 'The batch held no events.',
  event_not_defined: 'A track call did not name its event.',
  event_not_string: 'The name of its event was not a text.',
  filtered_by_rules: 'Filters of the destinations left it out.',
  id_malformed: 'An id had characters that no id may have.',
  id_not_string: 'An id was neither a text nor an exact number.',
  id_required: 'An id that the call needs was missing.',
  id_too_long: 'Its message id was too long.',
  inbox_full: 'Too many events were waiting already.',
  integrations_not_object: 'Its integrations were not an object.',
  name_not_string: 'Its name or category was not a text.',
  properties_not_object: 'Its properties were not an object.',
  request_timeout: 'The request took too long to arrive.',
  source_disabled: 'Its source was switched off.',
  timestamp_malformed: 'One of its times could not be read.',
  too_deep: 'It was nested too deeply.',
  too_large: 'The request was too large.',
  too_many_requests: 'Its sender sent too fast.',
  traits_not_object: 'Its traits were not an object.',
  type_unknown: 'Its type was missing or unknown.',
  unavailable: 'Postrider could not take it at that moment.',
  unknown_write_key: 'No source has its write key.',
  unsupported_media_type: 'Its content type or encoding cannot be read.',
}

/** The code of a reason as a sentence. */
export const refusalText = (code: string): string =>
  (texts as Partial<Record<string, string>>)[code] ?? `It was refused as “${code.replaceAll('_', ' ')}”.`
