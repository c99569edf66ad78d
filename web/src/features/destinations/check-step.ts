import type { DestinationValues } from './destination-form.ts'

/** What is missing or wrong in a step of the wizard, by the form's fields.
 *  @param isForAudiences  a destination that needs no source
 *  @param taken  names of other destinations */
export function checkStep(
  step: number,
  { name, sourceIds, webhooks }: DestinationValues,
  isForAudiences: boolean,
  taken: readonly string[],
): Record<string, string> {
  if (step === 0)
    return {
      ...(name.trim() === '' && { name: 'Enter a name' }),
      ...(taken.includes(name.trim()) && { name: 'Another destination has this name' }),
      ...(sourceIds.length === 0 && !isForAudiences && { sourceIds: 'Choose at least one source, or create one' }),
    }
  if (step !== 1) return {}
  if (webhooks.every(({ url }) => url.trim() === ''))
    return { 'webhooks.0.url': 'Enter the URL of at least one endpoint' }
  return Object.fromEntries(
    webhooks.flatMap(({ url, headers }, index) => [
      ...(url.trim() === '' || isHttpUrl(url) ? [] : [[`webhooks.${index}.url`, 'Must be a full http or https URL']]),
      ...headers.flatMap((header, row) =>
        header.name.trim() === '' && header.value !== ''
          ? [[`webhooks.${index}.headers.${row}.name`, 'Enter the name of the header']]
          : [],
      ),
    ]),
  ) as Record<string, string>
}

const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text.trim()) && URL.canParse(text.trim())

/** A name that no other destination has: the wanted one, or that with a number. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted
  for (let n = 2; taken.includes(name); n++) name = `${wanted} ${n}`
  return name
}
