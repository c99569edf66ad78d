/** A UUID. Pages that came by plain HTTP have no `randomUUID`: theirs has a random digit in the place of each zero. */
export const randomId = (): string =>
  (crypto as Partial<Crypto>).randomUUID?.() ??
  '00000000-0000-4000-8000-000000000000'.replace(/0/g, () =>
    (Number(crypto.getRandomValues(new Uint8Array(1))) % 16).toString(16),
  )
