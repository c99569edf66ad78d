/** A body as the fields of a form, for receivers that read nothing else. */

type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue }

/** The JSON body as `application/x-www-form-urlencoded`: a field for each value, in the order of the body, nested ones named as in
 *  `properties[items][0][sku]`. Text stands as it is, numbers and booleans as JSON writes them, null as an empty text; an empty object or
 *  list has no field.
 *  @see URL Standard, "application/x-www-form-urlencoded" */
export function encodeForm(body: string): string {
  const fields = new URLSearchParams()
  const add = (name: string, value: JsonValue): void => {
    if (typeof value !== 'object') fields.append(name, String(value))
    else if (value === null) fields.append(name, '')
    else for (const [key, member] of Object.entries(value)) add(name === '' ? key : `${name}[${key}]`, member)
  }
  add('', JSON.parse(body) as JsonValue)
  return fields.toString()
}
