/** Sources take turns in each lane of the inbox; what Temporal refused or somebody cancelled is out of their way. */
export const inboxTurns = {
  name: '0033-inbox-turns',
  sql: `
    alter table inbox
      -- when it was refused or cancelled: it stays to be looked at, and is not started
      add column settled_at timestamptz,
      add column cancelled_at timestamptz,
      add column cancelled_by text,
      add column cancelled_why text;
    update inbox set settled_at = now() where refusal is not null;
    drop index inbox_refused;
    create index inbox_settled on inbox (settled_at) where settled_at is not null;
    -- 4000000000000000000 is where the deferred lane begins
    create index inbox_prompt_turns on inbox (source_id, seq) where seq < 4000000000000000000 and settled_at is null;
    create index inbox_deferred_turns on inbox (source_id, seq) where seq >= 4000000000000000000 and settled_at is null;
  `,
}
