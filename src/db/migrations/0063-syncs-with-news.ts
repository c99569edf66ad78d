/** Whether a sync told its destinations anything that they did not know: what can be taken back. */
export const syncsWithNews = {
  name: '0063-syncs-with-news',
  sql: 'alter table audience_syncs add column told_news boolean not null default true',
}
