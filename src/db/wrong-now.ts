/** What operators are to be told of now, from what nodes have written down. */

import { countsSeconds } from './endpoint-states.ts'

/** Attempts below which a share of them tells nothing. */
export const fewestAttempts = 20

/** Newest syncs of an audience that are looked at: one that changed much is not hidden by those that came after it. */
const newestSyncs = 20

/** Longest reason of a sync that is told, in characters. */
const maxReasonLength = 300

/** SQL of it: kind, subject, name, reason, path, and the occasion where one may follow the other at the same subject.
 *  @param rules  SQL of one row with the columns of the table `alert_rules` */
export const wrongNow = (rules: string): string =>
  [
    endpointFailing,
    endpointFailingOften,
    endpointDown,
    destinationHeld,
    inboxOld,
    syncFailed,
    audienceResized,
    keyEnding,
  ]
    .map((kind) => kind(rules))
    .join(' union all ')

/** SQL: attempts are made there. An operator's pause keeps them away; a destination that is held by itself gets probes. */
export const isAttempted = 'd.enabled and (d.paused_at is null or d.held_at = d.paused_at)'

/** No query of a URL: receivers have tokens there. */
const endpointName = `d.name || ': ' || split_part(e.url, '?', 1)`

const inWords = (at: string): string => `to_char(${at} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')`

/** The same in every session, whatever its time zone. */
const stamp = (at: string): string => `extract(epoch from ${at})::text`

/** Whether it is told of already: what lies between beginning and end then goes on. */
const isOpen = (kind: string): string =>
  `exists (select from alerts a where a.kind = '${kind}' and a.subject = e.id and a.closed_at is null)`

/** Nothing was attempted while its destination was paused: from then on the time counts anew. */
const endpointFailing = (rules: string): string => `
  select 'endpoint_failing' as kind, e.id as subject, ${endpointName} as name,
    'it has failed since ' || ${inWords('h.failing_since')} || coalesce(': ' || h.reason, '') as reason,
    '/destinations/' || d.id as path, '' as occasion
  from ${rules} r, endpoints e
    join destinations d on d.id = e.destination_id and ${isAttempted}
    join endpoint_health h on h.endpoint_id = e.id
  where h.failing_since <= now() - make_interval(secs => r.endpoint_failing_after)
    and (d.resumed_at is null or ${isOpen('endpoint_failing')}
      or h.observed_at > d.resumed_at and d.resumed_at <= now() - make_interval(secs => r.endpoint_failing_after))`

/** It is over below half of the share: a share that is near the limit would be told again and again. */
const endpointFailingOften = (rules: string): string => `
  select 'endpoint_failing_often', e.id, ${endpointName},
    s.failed || ' of ' || s.made || ' attempts failed within ' || r.endpoint_failed_minutes || ' min',
    '/destinations/' || d.id, ''
  from ${rules} r
    cross join lateral (
      select endpoint_id, sum(failed) as failed, sum(delivered + failed) as made from attempt_stats
      where minute > now() - make_interval(mins => r.endpoint_failed_minutes) group by endpoint_id
    ) as s
    join endpoints e on e.id = s.endpoint_id
    join destinations d on d.id = e.destination_id and ${isAttempted}
  where r.endpoint_failed_percent is not null and s.failed > 0
    and (s.made >= ${fewestAttempts} and 100 * s.failed >= r.endpoint_failed_percent * s.made
      or 200 * s.failed >= r.endpoint_failed_percent * s.made and ${isOpen('endpoint_failing_often')})`

/** A node that ends takes back what it said: it is over when an attempt has succeeded. */
const endpointDown = (rules: string): string => `
  select 'endpoint_down', e.id, ${endpointName},
    'only probes are sent to it: it has failed since ' || ${inWords('coalesce(h.failing_since, down.since)')},
    '/destinations/' || d.id, ''
  from ${rules} r
    join endpoints e on r.endpoint_down
    join destinations d on d.id = e.destination_id and ${isAttempted}
    left join endpoint_health h on h.endpoint_id = e.id
    left join (
      select endpoint_id, min(down_since) as since from down_endpoints
      where seen_at > now() - make_interval(secs => ${countsSeconds}) group by endpoint_id
    ) as down on down.endpoint_id = e.id
  where down.since is not null or (h.failing_since is not null and ${isOpen('endpoint_down')})`

const destinationHeld = (rules: string): string => `
  select 'destination_held', d.id, d.name, 'every endpoint has failed since ' || ${inWords('d.held_failing_since')},
    '/destinations/' || d.id, ''
  from ${rules} r, destinations d where r.destination_held and d.held_at = d.paused_at`

const inboxOld = (rules: string): string => `
  select 'inbox_old', 'inbox', 'Inbox', 'an event waits since ' || ${inWords('oldest.received_at')},
    '/deliveries?status=queued', ''
  from ${rules} r, (select received_at from inbox where settled_at is null order by seq limit 1) as oldest
  where oldest.received_at <= now() - make_interval(secs => r.inbox_older_than)`

/** Of an audience whose syncs fail, or wait to be confirmed, one after the other: it is over when one completes. */
const syncFailed = (rules: string): string => `
  select * from (
    select distinct on (a.id, s.status) 'sync_' || s.status, a.id, a.name,
      left(coalesce(s.reason, 'it tells no reason'), ${maxReasonLength}), '/audiences/' || a.id, ''
    from ${rules} r
      join audiences a on r.sync_failed and a.deleted_at is null
      join audience_syncs s on s.audience_id = a.id and s.status in ('failed', 'refused') and s.number > coalesce((
        select c.number from audience_syncs c where c.audience_id = a.id and c.status = 'completed'
        order by c.number desc limit 1), 0)
    order by a.id, s.status, s.number desc
  ) as syncs`

/** It is no state: it is told for itself, and stays open for an hour. */
const audienceResized = (rules: string): string => `
  select * from (
    select distinct on (a.id) 'audience_resized', a.id, a.name,
      'a sync changed it from ' || s.members_before || ' to ' || s.members_after || ' members', '/audiences/' || a.id, s.id
    from ${rules} r
      join audiences a on r.audience_resized_percent is not null and a.deleted_at is null
      cross join lateral (
        select * from audience_syncs where audience_id = a.id order by number desc limit ${newestSyncs}
      ) as s
    where s.status = 'completed' and s.ended_at > now() - interval '1 hour' and s.members_before > 0
      and 100 * abs(s.members_after - s.members_before) > r.audience_resized_percent * s.members_before
    order by a.id, s.number desc
  ) as resized`

const keyEnding = (rules: string): string => `
  select 'key_ending', s.id, s.name, 'a write key that was replaced counts until ' || ${inWords('k.ends_at')},
    '/sources/' || s.id, ${stamp('k.ends_at')}
  from ${rules} r
    cross join lateral (
      select source_id, min(expires_at) as ends_at from previous_write_keys where expires_at > now() group by source_id
    ) as k
    join sources s on s.id = k.source_id
  where k.ends_at <= now() + make_interval(secs => r.key_ending_within)
  union all
  select 'key_ending', d.id, d.name, 'the secret that was replaced signs until ' || ${inWords('d.previous_secret_until')},
    '/destinations/' || d.id, ${stamp('d.previous_secret_until')}
  from ${rules} r, destinations d
  where d.previous_secret_encrypted is not null and d.previous_secret_until > now()
    and d.previous_secret_until <= now() + make_interval(secs => r.key_ending_within)`
