/** What more there is to know of each operation than its summary says: who may call it, what it needs, and what it bounds. */

const oneCall = (what: string): string =>
  `${what} The write key is the user name of Basic authentication, or \`writeKey\` in the body. ` +
  'With 200 the event is held durably; a `messageId` that came before is answered 200 and delivered once. ' +
  'With `?wait=3s` (10 seconds at most) the answer tells what the first attempt became.'

const track = oneCall('What a user did: needs `event`, and `userId` or `anonymousId`.')
const page = oneCall('A page that a user saw: needs `userId` or `anonymousId`.')
const screen = oneCall('A screen of an app that a user saw: needs `userId` or `anonymousId`.')
const identify = oneCall('Who a user is, in `traits`: needs `userId` or `anonymousId`.')
const group = oneCall('Which group a user belongs to: needs `groupId`, and `userId` or `anonymousId`.')
const alias = oneCall('A new id of a user: needs `userId`, the new one, and `previousId`.')
const batch =
  'Up to 2,500 calls in one request of 500 KB, each with its `type`. Bad ones are listed in `rejected` beside a 200; ' +
  'a batch without a good one is answered 400. `context` and `integrations` of the batch count for each of its calls.'

/** `operationId` → the text, in Markdown. */
export const descriptions: Record<string, string | undefined> = {
  isAlive: 'For a supervisor that restarts what hangs: answers as long as the process does, whatever it stands on.',
  isReady:
    'For a load balancer: 200 as long as the database or Temporal can hold events, else 503. `missing` names what is away.',
  getMetrics:
    'In the text format of Prometheus. No token is asked for: give this port to your network alone, or set `POSTRIDER_ADMIN_PORT`.',
  getClusterInfo: 'Some client libraries ask how many nodes there are before they send. Every node answers for itself.',
  ...{ track, trackShort: track, page, pageShort: page, screen, screenShort: screen },
  ...{ identify, identifyShort: identify, group, groupShort: group, alias, aliasShort: alias },
  ...{ batch, importBatch: batch, batchShort: batch },
  getLibrarySettings:
    'What the browser library of Segment asks for before it sends. The write key is that of a source.',
  createSession:
    'For browsers: takes an API token or the admin token. Later calls that change something carry `x-postrider-csrf: 1` beside the cookie. A session lasts 12 hours.',
  getSession: 'The role of the token or the session, and when the session ends.',
  deleteSession: 'Removes the cookie from the browser. A copy of it counts until its time is over.',
  listTokens: 'Without the tokens themselves, which are stored hashed. The last use is exact to a minute.',
  createToken:
    'The role `viewer` reads, `admin` changes. There can be 1,000, each with a name of its own. It counts on all nodes within a second.',
  deleteToken: 'It is refused on this node at once and on all others within a second, and its sessions end.',
  listAuditLog:
    'Who changed what, with the state before and after; secrets are masked. Kept for a year, 100,000 entries at most.',
  getOverview:
    'Of a range of up to 31 days, by default the last 24 hours. Counts of deliveries are `null` while Temporal does not answer.',
  getActivity:
    'For each source what came and was rejected, for each destination what was delivered and failed. The last time of a source is known for 7 days.',
  getOnboarding: 'For the first page of the web app: a source, a destination, an event, a delivery.',
  getStatus: 'Answers while a part is away, too: `missing` names it, and says why and since when.',
  getCatalog: 'What can be connected, with the settings that each type has.',
  listDeletedNames: 'By their ids, for lists of deliveries that outlive what they belong to.',
  listSources: 'In the order of their making. A viewer does not see write keys.',
  createSource:
    'Its events are taken at once by this node, and within a second by all others. With `?uniqueName=true` a name that is taken is refused.',
  getSource: 'With its write key, which a viewer does not see, and an `ETag` for a change with `If-Match`.',
  updateSource:
    'While it is off, its events are answered 401. With `If-Match`, a change that would overwrite another one is refused with 409.',
  deleteSource: 'It cannot be taken back: a new source has another write key.',
  rotateSourceKey:
    'With `overlapSeconds`, up to 30 days, the replaced one counts for so long; without, it and all before it end at once.',
  deletePreviousSourceKeys: 'For a key in wrong hands: from then on the current one alone counts.',
  listTurnedAway:
    'Rejected, filtered out, of suppressed users or without a destination, with the reason. Kept so that a sender can be mended.',
  getTurnedAway: 'The body has up to 32,768 characters, without write keys.',
  listDestinations: 'With their settings; shared secrets are never shown, values of headers not to a viewer.',
  createDestination:
    'Up to five endpoints, at addresses where deliveries may go. It takes the events that come from now on. With an `ETag` for a change with `If-Match`.',
  getDestination:
    'With an `ETag` for a change with `If-Match`. The shared secret is never shown: `hasSharedSecret` tells that there is one.',
  updateDestination:
    'Counts from the next attempt on, of deliveries under way as well. A list of endpoints is replaced as a whole: an entry with an `id` stays that endpoint.',
  deleteDestination: 'Deliveries that wait for it are discarded there; those to other destinations go on.',
  testDestination:
    'Whether it is switched on or not. Answers, for each endpoint, what was sent and what came back. It is no delivery, and never retried.',
  testDraft:
    'With a `destinationId` beside the settings, the secret and the headers that are saved there are used where the draft has none.',
  leaveRequests: 'What it has fetched and not answered fails when its time is over. Administrators alone may.',
  answerRequest:
    'Its `status` is the outcome of the attempt, as if the endpoint had answered so. 404 when the time for it is over.',
  rehearseDestination:
    'Says of each event whether it would be taken, and what the endpoints would get. Administrators alone may.',
  listDeliveries:
    'Filters take ids and names whole. Beside a `destinationId`, a status is where a delivery stands at that destination.',
  countDeliveries: 'Takes the filters of the list. Of very many, an estimate.',
  countSteerable:
    'Takes the filters of the list and an `action`: how many it can act on, and what keeps it from the others.',
  countSteerableOf: 'Takes up to 200 ids and an `action`: how many it can act on, and what keeps it from the others.',
  getDelivery:
    'In `timeline` stands what was sent and answered in each attempt, in `requests` what each endpoint gets. Slashes of the id are encoded as `%2F`.',
  retryDelivery:
    'In place of waiting for the end of the pause. Refused with 409 when the delivery is over, or paused destinations are all that it waits for.',
  cancelDelivery: 'No further attempt is made. Refused with 409 when it is over.',
  redeliver:
    'For one that is over, with the settings of now; optionally to a destination or an endpoint alone, where it may be over while others go on. Receivers know the repeat by its `messageId`.',
  redeliverMatching:
    'Takes the filters of the list, and answers an id by which its progress is asked for. It goes on by itself, and begins with what failed or was cancelled in the inbox.',
  retryMatching:
    'Takes the filters of the list, and answers an id by which its progress is asked for. It goes on by itself. Events in the inbox are left to their turn.',
  cancelMatching:
    'Takes the filters of the list, and answers an id by which its progress is asked for. It goes on by itself, and begins with what waits in the inbox.',
  getBulkSteering:
    'Of a retry, a redelivery or a cancellation of all that match: how many were looked at and acted on so far.',
  stopBulkSteering: 'What it has acted on stays so; the rest is left as it is.',
  listAudiences: 'With their settings; connection strings and headers are never shown.',
  createAudience:
    'Its key, the trait that endpoints get, is its name in snake_case. Nothing is sent before its first sync.',
  getAudience: 'With an `ETag` for a change with `If-Match`.',
  updateAudience: 'Counts from the next sync on. A new name that has another key asks for `keepKey`.',
  deleteAudience:
    'With `?notify=true` its members are told first that they left it; without, endpoints are told nothing.',
  listMembers:
    'By user id; `search` takes the beginning of one. `acknowledgedBy` names the destinations that took the call of a member.',
  changeMembers: 'Up to 100,000 users each way, of an audience that is pushed. Answers the id of the sync.',
  replaceMembers:
    'NDJSON or CSV, streamed, also gzipped. Answers the id of the sync. An upload that is cut off changes nothing.',
  syncAudience: 'Reads the membership, and sends a call for each user that joined or left since the last sync.',
  resyncAudience: 'For an endpoint that lost what it had: a call for every member, whether it changed or not.',
  listSyncs: 'With the numbers of users added, removed, unchanged, sent and failed.',
  getSync: 'Under way or over, with the number of bad rows and the first 100 of them.',
  listSyncUsers: 'With `search` as the beginning of a user id; where a call failed, with the delivery that tries on.',
  confirmSync:
    'For one that would have removed more than `maxRemovalShare`. Possible as long as no other sync came after it.',
  stopSync: 'What was not sent is sent by the next.',
  undoSync:
    'Sends the inverse calls, where nothing newer was told since. Possible for the last five syncs that sent something.',
  pauseAudience: 'Of the schedule alone: a sync that runs goes on.',
  resumeAudience: 'Its schedule goes on with the next time.',
  backfillAudience: 'Makes the scheduled runs that were missed between two times.',
  previewAudience: 'Of an upload in the body, or of the membership as it is now where there is none.',
  createDeletionRequest:
    'One `delete` notification for each user and affected source, which is one with a destination that is on. With `suppress`, later events of these users are dropped at the door.',
  listDeletionRequests: 'Each with the numbers of its users and notifications, and what became of these.',
  getDeletionRequest: 'The numbers of its notifications and what became of them, and when its events were erased.',
  liftSuppressions:
    'For users who come back. What was erased or dropped stays so. Refused with 409 while a deletion request of one of them is carried out.',
  listAlerts: 'Each with what it is about, since when, and when it was over.',
  muteAlert:
    'For `seconds`, up to 30 days; 0 ends it. Nothing is told of the same endpoint, destination or inbox meanwhile, of later alerts neither.',
  getAlertRules: 'One set for the whole installation, with an `ETag` for a change with `If-Match`.',
  replaceAlertRules:
    'Takes them as a whole; `null` and `false` are no alert. What a change ends is over without a word.',
  previewAlertRules: 'For somebody who sets them: whether they are too loud or too quiet.',
  listAlertChannels: 'URLs and passwords are never shown; how the last message went stands beside each.',
  createAlertChannel: 'A webhook, e-mail or Slack. Addresses are held to the rules of deliveries.',
  getAlertChannel: 'With an `ETag` for a change with `If-Match`. URLs and passwords are never shown.',
  updateAlertChannel:
    'What is secret of it stays unless it is given anew. With `If-Match`, a change that would overwrite another one is refused with 409.',
  deleteAlertChannel: 'Its open alerts go on, and others are told of them.',
  testAlertChannel: 'Answers whether it was taken, and if not, why.',
  applySettings:
    'Up to 5,000 changes in one transaction of the database. With `dryRun`, what would be refused is refused, and nothing is changed.',
  decodePayloads:
    'For the Temporal UI and the `temporal` command: up to 10,000 payloads of 6 MB together. Administrators alone may.',
  encodePayloads: 'For what an operator sends to a workflow by hand. Administrators alone may.',
}
