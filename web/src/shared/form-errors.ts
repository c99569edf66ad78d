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

/** What a form would do cannot be tried while a field is wrong. */
export const notTriedYet = 'Not tried yet. Correct the fields above first.'

/** Why what a form would do could not be tried as it is typed.
 *  @param isJson  it is typed as JSON, where the member that is wrong stands in the sentence */
export function notTried(error: Error, isJson = false): string {
  const isOfField = error instanceof ApiError && error.path !== undefined
  if (!isOfField) return `Not tried yet. ${explain(error)}`
  return isJson
    ? `Not tried yet. Correct the JSON above first. ${explain(error)}`
    : `${notTriedYet} ${explainAtField(error)}`
}
