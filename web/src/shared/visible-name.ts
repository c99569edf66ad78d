/** What can be seen: neither blanks nor characters that only steer or join others. */
const visible = /[^\p{Z}\p{Cc}\p{Cf}]/u

/** The name of an event; null for one that is blank, which could be neither read nor clicked. */
export const visibleName = (name: string | null | undefined): string | null =>
  name !== null && name !== undefined && visible.test(name) ? name : null
