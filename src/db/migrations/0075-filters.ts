/** Destinations know which events they take, in the words in which they were told; null: all. */
export const filters = {
  name: '0075-filters',
  sql: `alter table destinations add column filter json`,
}
