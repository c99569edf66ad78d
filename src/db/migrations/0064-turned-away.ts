/** Events that became no delivery, kept for a day to be looked at. */
export const turnedAway = {
  name: '0064-turned-away',
  sql: `
    create table turned_away (
      number bigint generated always as identity primary key,
      id text not null unique,
      at timestamptz not null,
      source_id text not null,
      fate text not null,
      reason text,
      message text,
      type text,
      event text,
      user_id text,
      message_id text,
      body text
    );
    create index turned_away_by_source on turned_away (source_id, number);
    create index turned_away_by_message on turned_away (message_id, number);
  `,
}
