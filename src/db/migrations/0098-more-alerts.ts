/** Further rules of alerts, what an alert is about where its subject can have one after the other, and by how much a sync changed an
 *  audience. */
export const moreAlerts = {
  name: '0098-more-alerts',
  sql: `
    alter table alert_rules
      -- null: no alert
      add column endpoint_failed_percent integer,
      add column endpoint_failed_minutes integer default 10,
      add column endpoint_down boolean default false,
      add column sync_failed boolean default true,
      add column audience_resized_percent integer,
      add column key_ending_within integer default 86400;
    -- another occasion of the same subject is another alert
    alter table alerts add column occasion text default '';
    -- null: a sync of the time before, or one that has not come so far
    alter table audience_syncs add column members_before bigint, add column members_after bigint`,
}
