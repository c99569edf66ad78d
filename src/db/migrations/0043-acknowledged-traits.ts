/** The traits that a destination was told with a member: an undo tells them again. */
export const acknowledgedTraits = {
  name: '0043-acknowledged-traits',
  sql: `
    alter table audience_acknowledged add column traits text;
    alter table audience_changes add column previous_traits text;
    alter table audience_handed_on add column previous_traits text;
  `,
}
