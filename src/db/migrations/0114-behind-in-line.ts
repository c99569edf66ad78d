/** Of the events that wait for others of their user, a look for what may start weighs the first of each line alone. */
export const behindInLine = {
  name: '0114-behind-in-line',
  sql: `
    -- others of its line wait here before it
    alter table inbox add column is_behind boolean not null default false;
    create index inbox_behind on inbox (waits_until) where is_behind;

    -- The first that waits behind a place which was taken or given up is behind nobody there.
    create function wake_behind() returns trigger language plpgsql as $$
      declare
        place bigint := old.seq;
      begin
        loop
          -- by itself, so that it takes one step in an index, whatever is known of the tables
          select seq into place from user_lines
          where line = old.line and seq > place and taken_at is null order by seq limit 1;
          exit when place is null or exists (select from inbox where seq = place and settled_at is null);
        end loop;
        update inbox set is_behind = false where seq = place and is_behind;
        return null;
      end
    $$;
    create trigger wakes after delete on user_lines for each row execute function wake_behind();
    create trigger wakes_taken after update of taken_at on user_lines for each row
      when (old.taken_at is null) execute function wake_behind();
  `,
}
