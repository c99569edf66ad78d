/** For a field of code: what is typed, not its label. */
export const monospaced = { input: { fontFamily: 'var(--mantine-font-family-monospace)' } } as const
