/** A look for what may start reads none of the events behind others, and two wakes at the same time lock in the same order. */
export const wakesInOrder = {
  name: '0115-wakes-in-order',
  sql: `
    create index inbox_next on inbox (turn, seq) where settled_at is null and not is_behind;

    -- Places that are not taken. Of a table that was never analyzed, as the embedded one, the planner believes that nearly no value is null,
    -- and would read a whole line for the first of them: so they are asked for by their count.
    create index user_lines_waiting on user_lines (line, seq) where takes < 1;

    drop trigger wakes on user_lines;
    drop trigger wakes_taken on user_lines;

    -- The first of each line that waits behind the places which a statement took or gave up is behind nobody there.
    create or replace function wake_behind() returns trigger language plpgsql as $$
      declare
        gone record;
        place bigint;
        places bigint[] := '{}';
      begin
        for gone in
          select line, min(seq) as seq from gone_places where tg_op = 'DELETE' or takes < 1 group by line
        loop
          place := gone.seq;
          loop
            -- by itself, so that it takes one step in an index, whatever is known of the tables
            select seq into place from user_lines
            where line = gone.line and seq > place and takes < 1 order by seq limit 1;
            exit when place is null or exists (select from inbox where seq = place and settled_at is null);
          end loop;
          places := places || place;
        end loop;
        -- in the order of all who lock several
        for place in select * from unnest(places) as woken order by woken loop
          update inbox set is_behind = false where seq = place and is_behind;
        end loop;
        return null;
      end
    $$;
    create trigger wakes after delete on user_lines referencing old table as gone_places
      for each statement execute function wake_behind();
    create trigger wakes_taken after update on user_lines referencing old table as gone_places
      for each statement execute function wake_behind();
  `,
}
