import { ApiError } from '../api/request.ts'
import { explain, sentence } from './error-notice.tsx'

/** Puts an error of the server on the field it names.
 *  @returns the sentence for the form as a whole, when no field is named */
export function placeError(
  error: Error,
  /** The form's field for a member of the body, as in `settings.webhooks[0].url` → `webhooks.0.url`. */
  fieldOf: (path: string) => string | undefined,
  setFieldError: (field: string, message: string) => void,
): string | undefined {
  const field = error instanceof ApiError && error.path !== undefined ? fieldOf(error.path) : undefined
  if (field === undefined) return explain(error)
  setFieldError(field, explainAtField(error))
  return undefined
}

/** What is wrong, below the field that it is about: `settings.webhooks[0].url must be …` → `Must be …` */
export function explainAtField(error: Error): string {
  const member = error instanceof ApiError ? error.path : undefined
  if (member === undefined || !error.message.startsWith(member)) return explain(error)
  return sentence(error.message.slice(member.length).replace(/^:/, ''))
}

/** Why what a form would do could not be tried as it is typed. */
export function notTried(error: Error): string {
  const isOfField = error instanceof ApiError && error.path !== undefined
  return `Not tried yet. ${isOfField ? 'Correct the fields above first. ' : ''}${explainAtField(error)}`
}
