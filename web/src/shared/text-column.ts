/** The head of a column of names or texts: it has room for words of usual length. Without it, a table with many columns would break
 *  them, since cells break whatever is too long for them. */
export const textColumn = { miw: 120 } as const
