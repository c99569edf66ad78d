/** Made by `npm run api:types` of the node's own description. */

export interface paths {
    "/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How much each source sent and each destination got in the last 24 hours, and when it did last
         * @description For each source what came and was rejected, for each destination what was delivered and failed. The last time of a source is known for 7 days.
         */
        get: operations["getActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/alert-channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who is told of alerts
         * @description URLs and passwords are never shown; how the last message went stands beside each.
         */
        get: operations["listAlertChannels"];
        put?: never;
        /**
         * Tell one more of alerts
         * @description A webhook, e-mail or Slack. Addresses are held to the rules of deliveries.
         */
        post: operations["createAlertChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/alert-channels/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A channel
         * @description With an `ETag` for a change with `If-Match`. URLs and passwords are never shown.
         */
        get: operations["getAlertChannel"];
        put?: never;
        post?: never;
        /**
         * Tell a channel nothing any more
         * @description Its open alerts go on, and others are told of them.
         */
        delete: operations["deleteAlertChannel"];
        options?: never;
        head?: never;
        /**
         * Change a channel; what is left out stays
         * @description What is secret of it stays unless it is given anew. With `If-Match`, a change that would overwrite another one is refused with 409.
         */
        patch: operations["updateAlertChannel"];
        trace?: never;
    };
    "/alert-channels/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tell the channel of a sample alert, now
         * @description Answers whether it was taken, and if not, why.
         */
        post: operations["testAlertChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/alert-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What begins an alert
         * @description One set for the whole installation, with an `ETag` for a change with `If-Match`.
         */
        get: operations["getAlertRules"];
        /**
         * Replace all rules
         * @description Takes them as a whole; `null` and `false` are no alert. What a change ends is over without a word.
         */
        put: operations["replaceAlertRules"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/alert-rules/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What would be open now with these rules; nothing is saved or told
         * @description For somebody who sets them: whether they are too loud or too quiet.
         */
        post: operations["previewAlertRules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/alerts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Alerts, newest first: open ones, and the newest 1,000 that are over
         * @description Each with what it is about, since when, and when it was over.
         */
        get: operations["listAlerts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/alerts/{id}/mute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Tell nothing of its subject for a time; the history goes on
         * @description For `seconds`, up to 30 days; 0 ends it. Nothing is told of the same endpoint, destination or inbox meanwhile, of later alerts neither.
         */
        post: operations["muteAlert"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make many changes of settings, all of them or none
         * @description Up to 5,000 changes in one transaction of the database. With `dryRun`, what would be refused is refused, and nothing is changed.
         */
        post: operations["applySettings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Audiences
         * @description With their settings; connection strings and headers are never shown.
         */
        get: operations["listAudiences"];
        put?: never;
        /**
         * Make an audience
         * @description Its key, the trait that endpoints get, is its name in snake_case. Nothing is sent before its first sync.
         */
        post: operations["createAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An audience
         * @description With an `ETag` for a change with `If-Match`.
         */
        get: operations["getAudience"];
        put?: never;
        post?: never;
        /**
         * Delete an audience
         * @description With `?notify=true` its members are told first that they left it; without, endpoints are told nothing.
         */
        delete: operations["deleteAudience"];
        options?: never;
        head?: never;
        /**
         * Change an audience; members that are left out stay
         * @description Counts from the next sync on. A new name that has another key asks for `keepKey`.
         */
        patch: operations["updateAudience"];
        trace?: never;
    };
    "/audiences/{id}/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run the schedule of an audience over times that have passed
         * @description Makes the scheduled runs that were missed between two times.
         */
        post: operations["backfillAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Members of an audience
         * @description By user id; `search` takes the beginning of one. `acknowledgedBy` names the destinations that took the call of a member.
         */
        get: operations["listMembers"];
        /**
         * Upload the whole membership, then sync
         * @description NDJSON or CSV, streamed, also gzipped. Answers the id of the sync. An upload that is cut off changes nothing.
         */
        put: operations["replaceMembers"];
        /**
         * Add and remove members, then sync
         * @description Up to 100,000 users each way, of an audience that is pushed. Answers the id of the sync.
         */
        post: operations["changeMembers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause the syncs of an audience
         * @description Of the schedule alone: a sync that runs goes on.
         */
        post: operations["pauseAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read a membership and say what a sync would change; nothing is sent
         * @description Of an upload in the body, or of the membership as it is now where there is none.
         */
        post: operations["previewAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume the syncs of an audience
         * @description Its schedule goes on with the next time.
         */
        post: operations["resumeAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/resync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send all members of an audience anew
         * @description For an endpoint that lost what it had: a call for every member, whether it changed or not.
         */
        post: operations["resyncAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sync an audience now
         * @description Reads the membership, and sends a call for each user that joined or left since the last sync.
         */
        post: operations["syncAudience"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/syncs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Syncs of an audience, newest first
         * @description With the numbers of users added, removed, unchanged, sent and failed.
         */
        get: operations["listSyncs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/syncs/{syncId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A sync of an audience
         * @description Under way or over, with the number of bad rows and the first 100 of them.
         */
        get: operations["getSync"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/syncs/{syncId}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send what a refused sync would change
         * @description For one that would have removed more than `maxRemovalShare`. Possible as long as no other sync came after it.
         */
        post: operations["confirmSync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/syncs/{syncId}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a sync where it is
         * @description What was not sent is sent by the next.
         */
        post: operations["stopSync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/syncs/{syncId}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take back what a sync changed
         * @description Sends the inverse calls, where nothing newer was told since. Possible for the last five syncs that sent something.
         */
        post: operations["undoSync"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audiences/{id}/syncs/{syncId}/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Users of a sync, and what became of their calls
         * @description With `search` as the beginning of a user id; where a call failed, with the delivery that tries on.
         */
        get: operations["listSyncUsers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/audit-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every change through this API, newest first
         * @description Who changed what, with the state before and after; secrets are masked. Kept for a year, 100,000 entries at most.
         */
        get: operations["listAuditLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Types of sources and destinations
         * @description What can be connected, with the settings that each type has.
         */
        get: operations["getCatalog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deleted-names": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What deleted sources, destinations and audiences were called: the last 10,000
         * @description By their ids, for lists of deliveries that outlive what they belong to.
         */
        get: operations["listDeletedNames"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deletion-requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deletion requests, newest first
         * @description Each with the numbers of its users and notifications, and what became of these.
         */
        get: operations["listDeletionRequests"];
        put?: never;
        /**
         * Tell destinations that users are to be deleted, and erase their events
         * @description One `delete` notification for each user and affected source, which is one with a destination that is on. With `suppress`, later events of these users are dropped at the door.
         */
        post: operations["createDeletionRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deletion-requests/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How far a deletion request is
         * @description The numbers of its notifications and what became of them, and when its events were erased.
         */
        get: operations["getDeletionRequest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Deliveries: those under way first, then the latest to end
         * @description Filters take ids and names whole. Beside a `destinationId`, a status is where a delivery stands at that destination.
         */
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A delivery with its event and every attempt
         * @description In `timeline` stands what was sent and answered in each attempt, in `requests` what each endpoint gets. Slashes of the id are encoded as `%2F`.
         */
        get: operations["getDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop a delivery
         * @description No further attempt is made. Refused with 409 when it is over.
         */
        post: operations["cancelDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/{id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the event of a delivery once more
         * @description For one that is over, with the settings of now; optionally to a destination or an endpoint alone, where it may be over while others go on. Receivers know the repeat by its `messageId`.
         */
        post: operations["redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attempt the waiting endpoints of a delivery now
         * @description In place of waiting for the end of the pause. Refused with 409 when the delivery is over, or paused destinations are all that it waits for.
         */
        post: operations["retryDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/bulk/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How far the steering of many deliveries is
         * @description Of a retry, a redelivery or a cancellation of all that match: how many were looked at and acted on so far.
         */
        get: operations["getBulkSteering"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/bulk/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop the steering of many deliveries where it is
         * @description What it has acted on stays so; the rest is left as it is.
         */
        post: operations["stopBulkSteering"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop all deliveries that match
         * @description Takes the filters of the list, and answers an id by which its progress is asked for. It goes on by itself, and begins with what waits in the inbox.
         */
        post: operations["cancelMatching"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How many deliveries match
         * @description Takes the filters of the list. Of very many, an estimate.
         */
        get: operations["countDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send the events of all deliveries that match once more
         * @description Takes the filters of the list, and answers an id by which its progress is asked for. It goes on by itself, and begins with what failed or was cancelled in the inbox.
         */
        post: operations["redeliverMatching"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Attempt all waiting deliveries that match now
         * @description Takes the filters of the list, and answers an id by which its progress is asked for. It goes on by itself. Events in the inbox are left to their turn.
         */
        post: operations["retryMatching"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deliveries/steerable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * On how many deliveries that match an action can act
         * @description Takes the filters of the list and an `action`: how many it can act on, and what keeps it from the others.
         */
        get: operations["countSteerable"];
        put?: never;
        /**
         * On how many of these deliveries an action can act
         * @description Takes up to 200 ids and an `action`: how many it can act on, and what keeps it from the others.
         */
        post: operations["countSteerableOf"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Destinations, and how their endpoints do
         * @description With their settings; shared secrets are never shown, values of headers not to a viewer.
         */
        get: operations["listDestinations"];
        put?: never;
        /**
         * Make a destination
         * @description Up to five endpoints, at addresses where deliveries may go. It takes the events that come from now on. With an `ETag` for a change with `If-Match`.
         */
        post: operations["createDestination"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A destination, and how its endpoints do
         * @description With an `ETag` for a change with `If-Match`. The shared secret is never shown: `hasSharedSecret` tells that there is one.
         */
        get: operations["getDestination"];
        put?: never;
        post?: never;
        /**
         * Delete a destination
         * @description Deliveries that wait for it are discarded there; those to other destinations go on.
         */
        delete: operations["deleteDestination"];
        options?: never;
        head?: never;
        /**
         * Change a destination, pause it or switch it off; members that are left out stay
         * @description Counts from the next attempt on, of deliveries under way as well. A list of endpoints is replaced as a whole: an entry with an `id` stays that endpoint.
         */
        patch: operations["updateDestination"];
        trace?: never;
    };
    "/destinations/{id}/rehearse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a filter and a mapping on the newest events of its sources; nothing is sent
         * @description Says of each event whether it would be taken, and what the endpoints would get. Administrators alone may.
         */
        post: operations["rehearseDestination"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations/{id}/requests/{requestId}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a request that was fetched
         * @description Its `status` is the outcome of the attempt, as if the endpoint had answered so. 404 when the time for it is over.
         */
        post: operations["answerRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations/{id}/requests/fetch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Take the requests that wait for endpoints at `*.listen.invalid`, and become their listener
         * @description For receivers that the node does not reach. Each request is handed out once, and is an attempt that fails unless it is answered in the time that its endpoint has. Another listener gets 409, until this one leaves or cuts its call off, or for 30 seconds after its last call.
         */
        post: operations["fetchRequests"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations/{id}/requests/leave": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a listener, so that another one may fetch at once
         * @description What it has fetched and not answered fails when its time is over. Administrators alone may.
         */
        post: operations["leaveRequests"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a sample event to every endpoint, now
         * @description Whether it is switched on or not. Answers, for each endpoint, what was sent and what came back. It is no delivery, and never retried.
         */
        post: operations["testDestination"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/destinations/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a sample event to endpoints before they are saved
         * @description With a `destinationId` beside the settings, the secret and the headers that are saved there are used where the draft has none.
         */
        post: operations["testDraft"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/onboarding": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Which of the first steps were taken
         * @description For the first page of the web app: a source, a destination, an event, a delivery.
         */
        get: operations["getOnboarding"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What came in and what became of it
         * @description Of a range of up to 31 days, by default the last 24 hours. Counts of deliveries are `null` while Temporal does not answer.
         */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Who calls
         * @description The role of the token or the session, and when the session ends.
         */
        get: operations["getSession"];
        put?: never;
        /**
         * Begin a session: sets the cookie postrider_session
         * @description For browsers: takes an API token or the admin token. Later calls that change something carry `x-postrider-csrf: 1` beside the cookie. A session lasts 12 hours.
         */
        post: operations["createSession"];
        /**
         * End the session
         * @description Removes the cookie from the browser. A copy of it counts until its time is over.
         */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sources
         * @description In the order of their making. A viewer does not see write keys.
         */
        get: operations["listSources"];
        put?: never;
        /**
         * Make a source, with a write key of its own
         * @description Its events are taken at once by this node, and within a second by all others. With `?uniqueName=true` a name that is taken is refused.
         */
        post: operations["createSource"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A source
         * @description With its write key, which a viewer does not see, and an `ETag` for a change with `If-Match`.
         */
        get: operations["getSource"];
        put?: never;
        post?: never;
        /**
         * Delete a source: its write keys end at once
         * @description It cannot be taken back: a new source has another write key.
         */
        delete: operations["deleteSource"];
        options?: never;
        head?: never;
        /**
         * Rename a source, or switch it on or off
         * @description While it is off, its events are answered 401. With `If-Match`, a change that would overwrite another one is refused with 409.
         */
        patch: operations["updateSource"];
        trace?: never;
    };
    "/sources/{id}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events of the source as they come in to this node (server-sent events)
         * @description Each `message` is one event with its fate: `{at, type, event, userId, messageId, fate, reason?, deliveryId?}`. An event `dropped` says how many could not be shown since the last one: `{dropped}`.
         */
        get: operations["watchSource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sources/{id}/previous-keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * End the replaced write keys of a source before their time
         * @description For a key in wrong hands: from then on the current one alone counts.
         */
        delete: operations["deletePreviousSourceKeys"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sources/{id}/rotate-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a source a new write key
         * @description With `overlapSeconds`, up to 30 days, the replaced one counts for so long; without, it and all before it end at once.
         */
        post: operations["rotateSourceKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Versions, and how Temporal and the database do
         * @description Answers while a part is away, too: `missing` names it, and says why and since when.
         */
        get: operations["getStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/suppressions/lift": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver the events of users again whose deletion requests suppressed them
         * @description For users who come back. What was erased or dropped stays so. Refused with 409 while a deletion request of one of them is carried out.
         */
        post: operations["liftSuppressions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * API tokens with their last use
         * @description Without the tokens themselves, which are stored hashed. The last use is exact to a minute.
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Make an API token; it is shown this once
         * @description The role `viewer` reads, `admin` changes. There can be 1,000, each with a name of its own. It counts on all nodes within a second.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke an API token
         * @description It is refused on this node at once and on all others within a second, and its sessions end.
         */
        delete: operations["deleteToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/turned-away": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events that became no delivery, newest first: the newest 10,000 of each source, for 24 hours; of a burst only the newest
         * @description Rejected, filtered out, of suppressed users or without a destination, with the reason. Kept so that a sender can be mended.
         */
        get: operations["listTurnedAway"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/turned-away/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * An event that became no delivery, with its body
         * @description The body has up to 32,768 characters, without write keys.
         */
        get: operations["getTurnedAway"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Activity: {
            /** @description Destinations that had an attempt; `delivered` and `failed` count requests to endpoints */
            destinations: {
                /** @description Requests to its endpoints that succeeded in the last 24 hours */
                delivered: number;
                /** @description Id of the destination */
                destinationId: string;
                /** @description Requests to its endpoints that failed in the last 24 hours */
                failed: number;
                /** @description When its last request began, ISO 8601, at an earlier URL exact to a minute; null where none is known */
                lastAttemptAt: string | null;
            }[];
            /** @description Sources that sent something in the last 7 days; `lastEventAt` is exact to a minute */
            sources: {
                /**
                 * Format: date-time
                 * @description When its last event came, ISO 8601, exact to a minute
                 */
                lastEventAt: string;
                /** @description Events that came in the last 24 hours, in any form */
                received: number;
                /** @description Those of them that were refused */
                rejected: number;
                /** @description Id of the source */
                sourceId: string;
            }[];
        };
        Alert: {
            /** @description When it was over, ISO 8601; null while it is open */
            closedAt: string | null;
            /** @description Why it is over without being mended, as `its destination was paused`; null: it was mended, or is open */
            closedReason: string | null;
            /** @description Id of the alert */
            id: string;
            /**
             * @description What it is about
             * @enum {string}
             */
            kind: "endpoint_failing" | "endpoint_failing_often" | "endpoint_down" | "destination_held" | "inbox_old" | "sync_failed" | "sync_refused" | "audience_resized" | "key_ending";
            /** @description Nothing is told of its subject until then, ISO 8601; null: not muted */
            mutedUntil: string | null;
            /** @description The subject for people */
            name: string;
            /**
             * Format: date-time
             * @description When it began, ISO 8601
             */
            openedAt: string;
            /** @description The page of the app that shows more */
            path: string;
            /** @description What was seen when it began */
            reason: string;
            /** @description Id of the endpoint, destination, audience or source; `inbox` */
            subject: string;
        };
        AlertChannel: {
            /** @description Where its links lead; null: none */
            appUrl: string | null;
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Id of the channel */
            id: string;
            /**
             * @description How alerts go there
             * @enum {string}
             */
            kind: "webhook" | "slack" | "email";
            /** @description Why the latest try failed; null where it did not */
            lastError: string | null;
            /** @description When it took an alert last, ISO 8601; null before the first */
            lastToldAt: string | null;
            /** @description Name for people */
            name: string;
            /** @description Settings without what is secret; null where the key ring has no key for them */
            settings: ({
                /** @description Whether requests are signed */
                hasSharedSecret: boolean;
                /**
                 * @description A signed `POST` of JSON
                 * @constant
                 */
                kind: "webhook";
            } | {
                /**
                 * @description A message through an incoming webhook of Slack
                 * @constant
                 */
                kind: "slack";
            } | {
                /** @description Address of the sender */
                from: string;
                /**
                 * @description E-mail by SMTP
                 * @constant
                 */
                kind: "email";
                /** @description Addresses that get it */
                to: string[];
            }) | null;
            /** @description Host of the URL, or the recipients */
            target: string;
        };
        AlertChannelPatch: {
            /** @description Where this app is, for the links; null: none any more */
            appUrl?: (string | null) | undefined;
            /** @description Another name, 1 to 200 characters */
            name?: string | undefined;
            /** @description What is other than before; members that are left out stay where the kind does */
            settings?: ({
                /**
                 * @description A signed `POST` of JSON
                 * @constant
                 */
                kind: "webhook";
                /** @description Signs from now on; null: not signed any more */
                sharedSecret?: (string | null) | undefined;
                /** @description Where it goes: http or https, at most 2,048 characters */
                url?: string | undefined;
            } | {
                /**
                 * @description A message through an incoming webhook of Slack
                 * @constant
                 */
                kind: "slack";
                /** @description The incoming webhook, as Slack shows it */
                url?: string | undefined;
            } | {
                /** @description Address of the sender */
                from?: string | undefined;
                /**
                 * @description E-mail by SMTP
                 * @constant
                 */
                kind: "email";
                /** @description Server, as in `smtp://user:password@mail.example.com:587` */
                smtpUrl?: string | undefined;
                /** @description Addresses that get it, 1 to 10 */
                to?: string[] | undefined;
            }) | undefined;
        };
        AlertRules: {
            /** @description A sync changed the size of an audience by more than so many percent, 1 to 1,000; null: no alert */
            audienceResizedPercent: number | null;
            /** @description A destination is held because it fails */
            destinationHeld: boolean;
            /** @description An endpoint is down: only probes are sent to it */
            endpointDown: boolean;
            /** @description The newest minutes whose attempts `endpointFailedPercent` counts, 1 to 60 */
            endpointFailedMinutes: number;
            /** @description So many percent of at least 20 attempts at an endpoint fail, 1 to 100; null: no alert */
            endpointFailedPercent: number | null;
            /** @description All attempts at an endpoint fail for so long, 1 to 86,400 s; null: no alert */
            endpointFailingAfterSeconds: number | null;
            /** @description An event waits in the inbox for so long, 1 to 86,400 s; null: no alert */
            inboxOlderThanSeconds: number | null;
            /** @description A replaced write key or signing secret ends within so long, 1 to 2,592,000 s (30 days); null: no alert */
            keyEndingWithinSeconds: number | null;
            /** @description A sync of an audience failed, or was refused */
            syncFailed: boolean;
        };
        AlertRulesInput: {
            /** @description A sync changed the size of an audience by more than so many percent, 1 to 1,000; null: no alert */
            audienceResizedPercent: number | null;
            /** @description A destination is held because it fails */
            destinationHeld: boolean;
            /** @description An endpoint is down: only probes are sent to it */
            endpointDown: boolean;
            /** @description The newest minutes whose attempts `endpointFailedPercent` counts, 1 to 60 */
            endpointFailedMinutes: number;
            /** @description So many percent of at least 20 attempts at an endpoint fail, 1 to 100; null: no alert */
            endpointFailedPercent: number | null;
            /** @description All attempts at an endpoint fail for so long, 1 to 86,400 s; null: no alert */
            endpointFailingAfterSeconds: number | null;
            /** @description An event waits in the inbox for so long, 1 to 86,400 s; null: no alert */
            inboxOlderThanSeconds: number | null;
            /** @description A replaced write key or signing secret ends within so long, 1 to 2,592,000 s (30 days); null: no alert */
            keyEndingWithinSeconds: number | null;
            /** @description A sync of an audience failed, or was refused */
            syncFailed: boolean;
        };
        ApiToken: {
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Id of the token; it does not open anything */
            id: string;
            /** @description Exact to a minute; null before the first use */
            lastUsedAt: string | null;
            /** @description Name of the token, 1 to 200 characters */
            name: string;
            /**
             * @description What the token may do
             * @enum {string}
             */
            role: "admin" | "viewer";
        };
        Audience: {
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Destinations that are told of its members */
            destinationIds: string[];
            /** @description Id of the audience */
            id: string;
            /** @description Name of the trait that destinations are told, in snake_case, at most 100 characters */
            key: string;
            /**
             * @description What users have of it: that they are in it (`audience`), or a value of their own (`trait`)
             * @enum {string}
             */
            kind: "audience" | "trait";
            /** @description Share of rows that may be bad, from 0 to 1, before a sync fails; 0 unless given */
            maxBadRowShare: number;
            /** @description Most Identify calls a second to each destination; `null`, the default: as many as it takes */
            maxPerSecond: number | null;
            /** @description Share of a destination's members, from 0 to 1, that a sync may remove before it must be confirmed; 0.5 unless given */
            maxRemovalShare: number;
            /** @description Members of the last membership that was taken over */
            members: number;
            /** @description Where its members come from, without secrets */
            membership: {
                /**
                 * @description Members are uploaded
                 * @constant
                 */
                kind: "push";
            } | {
                /**
                 * @description What the answer is; absent: as its Content-Type says
                 * @enum {string}
                 */
                format?: ("ndjson" | "csv" | "json") | undefined;
                /** @description Names of the headers that are sent with it, without their values */
                headerNames: string[];
                /**
                 * @description Members are fetched over HTTP at each sync
                 * @constant
                 */
                kind: "http";
                /** @description Where the membership is fetched */
                url: string;
            } | {
                /** @description Name of the database */
                database: string;
                /** @description Host of the database, with its port */
                host: string;
                /**
                 * @description Members are read by a SQL statement at each sync
                 * @constant
                 */
                kind: "sql";
                /** @description The statement that gives the members */
                query: string;
                /** @description How long the statement may take, in seconds, from 1 to 3,600 */
                statementTimeoutSeconds: number;
            };
            /** @description Name for people */
            name: string;
            /** @description Whether the schedule is paused */
            paused: boolean;
            /** @description When syncs start by themselves; null: never */
            schedule: components["schemas"]["AudienceSchedule"] | null;
            /**
             * Format: date-time
             * @description When its settings changed last, ISO 8601
             */
            updatedAt: string;
        };
        AudienceMember: {
            /** @description Destinations that took the call with this value */
            acknowledgedBy: string[];
            /** @description Destinations whose call with this value failed and got a delivery of its own */
            handedOn: {
                /** @description Id of the delivery, which tells what came of it */
                deliveryId: string;
                /** @description Id of the destination */
                destinationId: string;
            }[];
            /** @description Further traits that Identify calls carry, with the value at most 24 KB; null where there are none */
            traits: {
                [key: string]: unknown;
            } | null;
            /** @description Id of the user, at most 512 characters */
            userId: string;
            /** @description Of a computed trait; null in an audience */
            value: unknown;
        };
        AudiencePatch: {
            /** @description All destinations that are told of its members from now on, at most 100 */
            destinationIds?: string[] | undefined;
            /** @description Asked for by a new name that has another key: `true` keeps the key, `false` takes the new one */
            keepKey?: boolean | undefined;
            /** @description Share of rows that may be bad before a sync fails, from 0 to 1 */
            maxBadRowShare?: number | undefined;
            /** @description Most Identify calls a second to each destination, from 1 to 100,000; null: as many as it takes */
            maxPerSecond?: (number | null) | undefined;
            /** @description Share of a destination's members that a sync may remove before it must be confirmed, from 0 to 1 */
            maxRemovalShare?: number | undefined;
            /** @description Where its members come from now on */
            membership?: ({
                /**
                 * @description Members are uploaded
                 * @constant
                 */
                kind: "push";
            } | {
                /**
                 * @description What the answer is; absent: as its Content-Type says
                 * @enum {string}
                 */
                format?: ("ndjson" | "csv" | "json") | undefined;
                /** @description Sent to the origin of `url` alone; in a change, absent headers stay as they are while the origin stays */
                headers?: {
                    [key: string]: string;
                } | undefined;
                /**
                 * @description Members are fetched over HTTP at each sync
                 * @constant
                 */
                kind: "http";
                /**
                 * Format: uri
                 * @description Where the membership is fetched, at most 2,048 characters
                 */
                url: string;
            } | {
                /** @description `postgres://user:password@host:port/database?sslmode=…`; in a change, absent means unchanged */
                connectionString?: string | undefined;
                /**
                 * @description Members are read by a SQL statement at each sync
                 * @constant
                 */
                kind: "sql";
                /** @description One statement that gives a column `user_id`, for computed traits `value`; further columns become traits */
                query: string;
                /**
                 * @description How long the statement may take, in seconds; 300 unless given
                 * @default 300
                 */
                statementTimeoutSeconds?: number | undefined;
            }) | undefined;
            /** @description Another name, 1 to 200 characters */
            name?: string | undefined;
            /** @description When syncs start by themselves from now on; null: never */
            schedule?: (components["schemas"]["AudienceScheduleInput"] | null) | undefined;
        };
        AudienceSchedule: {
            /** @description Five fields, as in `0 6 * * *`, at most 200 characters; absent where there is an interval */
            cron?: string | undefined;
            /** @description Time between two syncs, as in 15m, 6h or 1d, at least 1m; absent where there is a cron line */
            interval?: string | undefined;
            /** @description A sync starts up to this much later, as in 30s, chosen at random; at once unless given */
            jitter?: string | undefined;
            /** @description Time zone of the cron line, as in Europe/Berlin, at most 100 characters; UTC unless given */
            timezone?: string | undefined;
        };
        AudienceScheduleInput: {
            /** @description Five fields, as in `0 6 * * *`, at most 200 characters; absent where there is an interval */
            cron?: string | undefined;
            /** @description Time between two syncs, as in 15m, 6h or 1d, at least 1m; absent where there is a cron line */
            interval?: string | undefined;
            /** @description A sync starts up to this much later, as in 30s, chosen at random; at once unless given */
            jitter?: string | undefined;
            /** @description Time zone of the cron line, as in Europe/Berlin, at most 100 characters; UTC unless given */
            timezone?: string | undefined;
        };
        AuditEntry: {
            /** @description What was done, as in `sources.create` or `sources.rotate-key` */
            action: string;
            /** @description Name of the API token, or `admin` for the configured one; `postrider` for the node itself; the caller's address when a sign-in was refused */
            actor: string;
            /** @description What the change answered, secrets masked; null after a deletion */
            after: unknown;
            /**
             * Format: date-time
             * @description When it began, ISO 8601
             */
            at: string;
            /** @description The subject before the change, secrets masked; null when there was none, or none is read */
            before: unknown;
            /** @description Id of the entry */
            id: string;
            /**
             * @description Where the change stands
             * @enum {string}
             */
            outcome: "done" | "failed" | "unknown" | "refused";
            /** @description What it was done to, as in `sources/src_…` */
            subject: string;
        };
        BulkSteering: {
            /**
             * @description What is done to each delivery
             * @enum {string}
             */
            action: "retry" | "redeliver" | "cancel";
            /** @description Deliveries that were steered so far */
            done: number;
            /** @description Deliveries that could not be steered so far */
            failed: number;
            /** @description Why some could not be steered, and how many: at most 10 reasons */
            failures: {
                /** @description How many could not be steered for this reason */
                count: number;
                /** @description Why they could not be steered, in words */
                reason: string;
            }[];
            /** @description Id of the bulk steering */
            id: string;
            /** @description Deliveries that matched when it began */
            matched: number;
            /**
             * @description `running`, `completed`, `stopped` by an operator, or `failed`: Temporal gave it up
             * @enum {string}
             */
            status: "running" | "completed" | "stopped" | "failed";
        };
        CatalogItem: {
            /**
             * @description Who sends: Postrider, not the device of the user
             * @constant
             */
            connectionMode: "cloud";
            /** @description What it does with events, in a sentence */
            description: string;
            /** @description Types of calls that it takes */
            eventTypes: ("track" | "page" | "screen" | "identify" | "group" | "alias")[];
            /** @description Name for people */
            name: string;
            /**
             * @description Sources that can be connected to it
             * @constant
             */
            sourceTypes: "all";
            /**
             * @description Kind of the destination, as new ones name it
             * @constant
             */
            type: "webhooks";
        };
        CreatedApiToken: {
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Id of the token; it does not open anything */
            id: string;
            /** @description Exact to a minute; null before the first use */
            lastUsedAt: string | null;
            /** @description Name of the token, 1 to 200 characters */
            name: string;
            /**
             * @description What the token may do
             * @enum {string}
             */
            role: "admin" | "viewer";
            /** @description Shown in this answer and never again */
            token: string;
        };
        DeletionRequest: {
            /** @description Waiting deliveries and queued events of the users that were called off */
            cancelled: number;
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Deliveries of the users that Postrider still knew of: what they held cannot be read once the keys are gone */
            deliveries: number;
            /** @description When the last of its notifications had started, ISO 8601; null before */
            endedAt: string | null;
            /** @description When the keys of its users were destroyed, ISO 8601: once the last notification had ended; null before, and for a request of an earlier version */
            erasedAt: string | null;
            /** @description Id of the request */
            id: string;
            /** @description Keys that were destroyed: one for each user and source, and that of the notifications */
            keys: number;
            /** @description Notifications in all: one per user and source */
            notifications: number;
            /** @description Notifications that were not made, as their source had no destination any more */
            skipped: number;
            /** @description Sources that had a destination when the request was made */
            sourceIds: string[];
            /** @description Those whose delivery has started, and those whose source had no destination any more */
            started: number;
            /**
             * @description `waiting` until Temporal takes it, `running`, or `completed`: every notification has started
             * @enum {string}
             */
            status: "waiting" | "running" | "completed";
            /** @description Whether later events of these users are dropped at the door */
            suppress: boolean;
            /** @description How many users it names, each counted once */
            users: number;
        };
        DeletionRequestDetail: {
            /** @description Waiting deliveries and queued events of the users that were called off */
            cancelled: number;
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Notifications that arrived, and that failed; null while Temporal does not answer */
            delivered: number | null;
            /** @description Deliveries of the users that Postrider still knew of: what they held cannot be read once the keys are gone */
            deliveries: number;
            /** @description When the last of its notifications had started, ISO 8601; null before */
            endedAt: string | null;
            /** @description When the keys of its users were destroyed, ISO 8601: once the last notification had ended; null before, and for a request of an earlier version */
            erasedAt: string | null;
            /** @description Notifications that no endpoint took; null while Temporal does not answer */
            failed: number | null;
            /** @description Id of the request */
            id: string;
            /** @description Keys that were destroyed: one for each user and source, and that of the notifications */
            keys: number;
            /** @description Notifications in all: one per user and source */
            notifications: number;
            /** @description Notifications that were not made, as their source had no destination any more */
            skipped: number;
            /** @description Sources that had a destination when the request was made */
            sourceIds: string[];
            /** @description Those whose delivery has started, and those whose source had no destination any more */
            started: number;
            /**
             * @description `waiting` until Temporal takes it, `running`, or `completed`: every notification has started
             * @enum {string}
             */
            status: "waiting" | "running" | "completed";
            /** @description Whether later events of these users are dropped at the door */
            suppress: boolean;
            /** @description How many users it names, each counted once */
            users: number;
        };
        Delivery: {
            /** @description Requests made so far; null where only the delivery itself tells */
            attempts: number | null;
            /** @description Destinations that it goes to */
            destinationIds: string[];
            /** @description When it ended, ISO 8601; null while it has not */
            endedAt: string | null;
            /** @description Whether the user was deleted and its data erased: names and body are gone, also from Temporal */
            erased: boolean;
            /** @description Name of a track call's event, or of a page, a screen or another call that has one; in lists up to 255 characters, of a longer one the beginning with an ellipsis */
            event: string | null;
            /** @description Its id: `event/<source id>/<messageId>`, of one that was delivered again with `/redelivery/<n>`; Temporal has a hash in place of the message id */
            id: string;
            /** @description Message id of the event; in lists up to 255 characters, of a longer one the beginning; empty where it was erased */
            messageId: string;
            /** @description When an endpoint is attempted next, ISO 8601; null where none is planned, or only the delivery itself tells */
            nextAttemptAt: string | null;
            /** @description Why it failed or waits */
            reason: string | null;
            /** @description Source that the event came from; of a change of an audience, the audience */
            sourceId: string;
            /**
             * Format: date-time
             * @description When its delivery started, ISO 8601; while it is queued, when the event was accepted
             */
            startedAt: string;
            /**
             * @description Where it stands
             * @enum {string}
             */
            status: "queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled";
            /** @description Type of the call, or `delete` for the notification of a deletion */
            type: string;
            /** @description User of the event, in lists up to 255 characters of the id; null where it has an anonymous one alone */
            userId: string | null;
        };
        DeliveryAttempt: {
            /**
             * Format: date-time
             * @description When the request began, ISO 8601
             */
            at: string;
            /** @description From the beginning of the request to the end of its answer or its failure, in milliseconds */
            durationMs: number;
            /** @description Id of the endpoint */
            endpointId: string;
            /** @description Why it failed, in words; null on success */
            error: string | null;
            /** @description Beginning of the answer's body, cleaned: at most 1,024 bytes */
            excerpt: string | null;
            /** @description Whether headers were too many or too long, so that some are not kept */
            isCut: boolean;
            /** @description Whether its failure is final, so that the event is not tried again at this endpoint; null on success, and of attempts of early versions */
            isFinal: boolean | null;
            /** @description The request as it was made, whatever the settings are now; null where it is not kept, as of attempts of earlier versions, or none was made */
            request: {
                /**
                 * @description How its body was written
                 * @enum {string}
                 */
                contentType: "json" | "form";
                /** @description Its headers, those of the signature included; values of the endpoint's own are masked */
                headers: {
                    [key: string]: string;
                };
                /**
                 * @description Method of the request
                 * @enum {string}
                 */
                method: "POST" | "PUT" | "PATCH";
            } | null;
            /** @description What was answered beside `status` and `excerpt`; null where there was no answer, or it is not kept */
            response: {
                /** @description Headers of the answer: the first 50, 3,072 bytes in all, and less in large parcels */
                headers: {
                    /** @description Name of the header, in lower case */
                    name: string;
                    /** @description Its value; masked in cookies and in headers named after secrets */
                    value: string;
                }[];
            } | null;
            /** @description For how long the endpoint asked to be left alone (`Retry-After` of a 429 or 503), in milliseconds; null where it asked for nothing, and in attempts of early versions */
            retryAfterMs: number | null;
            /** @description HTTP status of the answer; null when there was none */
            status: number | null;
            /** @description Where it went, up to 300 characters of it; null for an attempt of an early version */
            url: string | null;
        };
        DeliveryDestination: {
            /** @description Id of the destination */
            destinationId: string;
            /** @description Where it stands at each endpoint, at most 5 */
            endpoints: {
                /** @description Requests made to it */
                attempts: number;
                /** @description Id of the endpoint */
                endpointId: string;
                /** @description Why it was given up, or is attempted again */
                reason: string | null;
                /** @description How long after its first attempt it is tried there, in milliseconds; absent: as at the destination */
                retryWindowMs?: number | undefined;
                /**
                 * @description Where it stands at this endpoint
                 * @enum {string}
                 */
                status: "queued" | "delivering" | "retrying" | "held" | "delivered" | "failed" | "discarded" | "cancelled" | "superseded";
                /** @description Where its last attempt went, before the first where it would go; null when that is not known any more */
                url: string | null;
            }[];
            /**
             * @description It was redelivered to one endpoint that was named: a further redelivery goes there again, unless it names another part; absent: to all endpoints
             * @constant
             */
            isChosenEndpoint?: true | undefined;
            /** @description How long after its first attempt there it is tried, in milliseconds; absent where that is as for the whole delivery */
            retryWindowMs?: number | undefined;
            /**
             * @description Where it stands at this destination
             * @enum {string}
             */
            status: "queued" | "delivering" | "retrying" | "held" | "delivered" | "failed" | "discarded" | "cancelled";
        };
        DeliveryDetail: {
            /** @description Requests made so far; null where only the delivery itself tells */
            attempts: number | null;
            /** @description Its bytes, as text; null where it was erased */
            body: string | null;
            /** @description Destinations that it goes to */
            destinationIds: string[];
            /** @description What it has come to at each of its destinations */
            destinations: components["schemas"]["DeliveryDestination"][];
            /** @description When it ended, ISO 8601; null while it has not */
            endedAt: string | null;
            /** @description Whether the user was deleted and its data erased: names and body are gone, also from Temporal */
            erased: boolean;
            /** @description Name of a track call's event, or of a page, a screen or another call that has one; in lists up to 255 characters, of a longer one the beginning with an ellipsis */
            event: string | null;
            /** @description Its id: `event/<source id>/<messageId>`, of one that was delivered again with `/redelivery/<n>`; Temporal has a hash in place of the message id */
            id: string;
            /** @description The event: the body that endpoints receive where there is no mapping; null where it was erased */
            message: {
                [key: string]: unknown;
            } | null;
            /** @description Message id of the event; in lists up to 255 characters, of a longer one the beginning; empty where it was erased */
            messageId: string;
            /** @description When an endpoint is attempted next, ISO 8601; null where none is planned, or only the delivery itself tells */
            nextAttemptAt: string | null;
            /** @description Whether it began before others of its user had ended at a destination that keeps their order: it had waited for as long as it may */
            outOfOrder: boolean;
            /** @description Endpoints that are tried on */
            pending: {
                /** @description Id of the endpoint */
                endpointId: string;
                /** @description When it is attempted next, ISO 8601; null while an attempt is under way, or that is not known */
                nextAttemptAt: string | null;
                /** @description Whether an attempt is under way */
                running: boolean;
            }[];
            /** @description Why it failed or waits */
            reason: string | null;
            /** @description The request to each of its endpoints, as an attempt would make it with the settings of now; signed for the time of the last attempt. What was sent stands in `timeline` */
            requests: {
                /** @description Its body as the mapping of the delivery and the content type make it, as text; null where the mapping cannot be applied */
                body: string | null;
                /** @description Id of the endpoint */
                endpointId: string;
                /** @description Headers of the request, those of the signature included */
                headers: {
                    [key: string]: string;
                };
                /**
                 * @description Method of the request; `POST` where it is absent
                 * @enum {string}
                 */
                method?: ("POST" | "PUT" | "PATCH") | undefined;
                /** @description Where the request goes */
                url: string;
            }[];
            /** @description How long after its first attempt at a destination it is tried there, in milliseconds, as the node was set up when it came; absent where it was erased */
            retryWindowMs?: number | undefined;
            /** @description Source that the event came from; of a change of an audience, the audience */
            sourceId: string;
            /**
             * Format: date-time
             * @description When its delivery started, ISO 8601; while it is queued, when the event was accepted
             */
            startedAt: string;
            /**
             * @description Where it stands
             * @enum {string}
             */
            status: "queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled";
            /** @description Who steered it, and why */
            steering: {
                /** @description What was done: `retry`, `redeliver` or `cancel` */
                action: string;
                /**
                 * Format: date-time
                 * @description When it was steered, ISO 8601
                 */
                at: string;
                /** @description Name of the API token, or `admin`; null where it is not known */
                by: string | null;
                /** @description The reason that was given, at most 500 characters; null where none was */
                why: string | null;
            }[];
            /** @description Its workflow in Temporal's UI; null where there is none */
            temporalUiUrl: string | null;
            /** @description Attempts of all endpoints, oldest first */
            timeline: components["schemas"]["DeliveryAttempt"][];
            /** @description Type of the call, or `delete` for the notification of a deletion */
            type: string;
            /** @description User of the event, in lists up to 255 characters of the id; null where it has an anonymous one alone */
            userId: string | null;
        };
        Destination: {
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Whether events go to it */
            enabled: boolean;
            /** @description In the order of `settings.webhooks` */
            endpoints: {
                /** @description Each node judges by its own attempts: how many hold it to be down */
                downOnNodes: number;
                /** @description Since when an endpoint fails that attempts are kept from, ISO 8601; null where they are not */
                downSince: string | null;
                /** @description The first failure after its newest success, ISO 8601; null while the latest attempt succeeded */
                failingSince: string | null;
                /** @description Id of the endpoint */
                id: string;
                /** @description When its latest attempt, or call of a sync, ended, ISO 8601; null before the first */
                lastAttemptAt: string | null;
                /** @description Null where it is not down, or a probe is due: the next event or retry is the probe */
                nextProbeAt: string | null;
                /** @description Why the latest attempt failed */
                reason: string | null;
                /**
                 * @description How it does, by its latest attempts and calls of syncs
                 * @enum {string}
                 */
                state: "untried" | "working" | "failing" | "down";
            }[];
            /** @description Which of their events it takes; null: all */
            filter: components["schemas"]["Filter"] | null;
            /** @description Set while it is paused because it fails: Postrider resumes it when an endpoint answers; else null */
            held: {
                /**
                 * Format: date-time
                 * @description Since when every endpoint failed by then, ISO 8601
                 */
                failingSince: string;
                /**
                 * Format: date-time
                 * @description When Postrider paused it, ISO 8601
                 */
                since: string;
            } | null;
            /** @description With `hold`, after how many seconds of failure they are held */
            holdAfterSeconds: number;
            /** @description Id of the destination */
            id: string;
            /** @description What becomes of an event before it is sent; null: nothing */
            mapping: components["schemas"]["Mapping"] | null;
            /** @description Name for people */
            name: string;
            /**
             * @description Whether deliveries are retried or held while every endpoint fails
             * @enum {string}
             */
            onFailing: "retry" | "hold";
            /** @description Whether each user's events go one after the other; null: side by side */
            orderPerUser: {
                /** @description For how long an event waits at most for those before it of the same user, 1 to 86,400 seconds */
                maxWaitSeconds: number;
            } | null;
            /** @description Whether its deliveries wait until it is resumed, by an operator or as `held` says */
            paused: boolean;
            /** @description Pauses between its attempts; null: as the node is set up */
            retryPauses: components["schemas"]["RetryPauses"] | null;
            /** @description For how many hours after its first attempt an event is retried; null: as the node is set up */
            retryWindowHours: number | null;
            /** @description Where requests go, and whether they are signed */
            settings: {
                /** @description Whether a secret signs its requests; the secret itself is never shown */
                hasSharedSecret: boolean;
                /** @description Its endpoints, at most 5 */
                webhooks: {
                    /**
                     * @description Whether its requests have the event as JSON or as the fields of a form; `json` where it is absent
                     * @enum {string}
                     */
                    contentType?: ("json" | "form") | undefined;
                    /** @description Static headers of its requests; to viewers their values are masked */
                    headers: {
                        [key: string]: string;
                    };
                    /** @description Id of the endpoint */
                    id: string;
                    /** @description Attempts that each node makes at a time at most, 1 to 128; `null`: as many as it proves to take */
                    maxConcurrent?: (number | null) | undefined;
                    /** @description Requests a second that each node sends it at most, 1 to 1,000, spread evenly; `null`: no bound */
                    maxPerSecond?: (number | null) | undefined;
                    /**
                     * @description Method of the request; `POST` where it is absent
                     * @enum {string}
                     */
                    method?: ("POST" | "PUT" | "PATCH") | undefined;
                    /** @description Pauses between attempts there; `null`: as at its destination */
                    retryPauses?: (components["schemas"]["RetryPauses"] | null) | undefined;
                    /** @description For how long after its first attempt an event is retried there, 1 to 72 hours; `null`: as at its destination */
                    retryWindowHours?: (number | null) | undefined;
                    /** @description Statuses beside 2xx by which it takes an event: 300 to 499, or ranges as in `"400-404"`; at most 20 */
                    successStatuses?: (number | string)[] | undefined;
                    /** @description How long it has for the head of its answer, 1 to 30 seconds; 5 where it is absent */
                    timeoutSeconds?: number | undefined;
                    /** @description Where its requests go */
                    url: string;
                }[];
            };
            /** @description Sources whose events it gets */
            sourceIds: string[];
            /**
             * @description Whether one endpoint is enough (`any`), or all must take each event
             * @enum {string}
             */
            successPolicy: "any" | "all";
            /**
             * @description Kind of the destination: there is one
             * @constant
             */
            type: "webhooks";
            /**
             * Format: date-time
             * @description When its settings changed last, ISO 8601
             */
            updatedAt: string;
        };
        DestinationPatch: {
            /** @description Whether events go to it; what waits for one that is switched off is discarded */
            enabled?: boolean | undefined;
            /** @description Which of their events it takes from now on, as a whole; `null`: all */
            filter?: (components["schemas"]["FilterInput"] | null) | undefined;
            /** @description With `hold`, after how long a failure they are held, 1 to 86,400 seconds */
            holdAfterSeconds?: number | undefined;
            /** @description What becomes of events from now on before they are sent, as a whole; `null`: nothing */
            mapping?: (components["schemas"]["MappingInput"] | null) | undefined;
            /** @description Another name, 1 to 200 characters */
            name?: string | undefined;
            /**
             * @description Whether deliveries are retried (`retry`) or held (`hold`) while every endpoint fails; `retry` ends a hold
             * @enum {string}
             */
            onFailing?: ("retry" | "hold") | undefined;
            /** @description Whether each user's events that come from now on go one after the other, as a whole; `null`: side by side */
            orderPerUser?: ({
                /** @description For how long an event waits at most for those before it of the same user, 1 to 86,400 seconds */
                maxWaitSeconds: number;
            } | null) | undefined;
            /** @description Whether its deliveries wait; while they do, their retry window stands still */
            paused?: boolean | undefined;
            /** @description Pauses between attempts at events that come from now on; `null`: as the node is set up */
            retryPauses?: (components["schemas"]["RetryPausesInput"] | null) | undefined;
            /** @description For how long events that come from now on are retried, 1 to 72 hours; `null`: as the node is set up */
            retryWindowHours?: (number | null) | undefined;
            /** @description Where requests go, and what signs them; what it does not name stays */
            settings?: {
                /** @description How long the replaced secret goes on signing beside the new one, in seconds; not at all unless given */
                secretOverlapSeconds?: number | undefined;
                /** @description A new secret; `null` ends signing */
                sharedSecret?: (string | null) | undefined;
                /** @description All its endpoints from now on, at most 5 */
                webhooks?: {
                    /**
                     * @description Whether its requests have the event as JSON or as the fields of a form; `json` where it is absent
                     * @enum {string}
                     */
                    contentType?: ("json" | "form") | undefined;
                    /** @description Static headers of each request, at most 50, each value at most 4,096 characters; absent: as before */
                    headers?: {
                        [key: string]: string;
                    } | undefined;
                    /** @description The endpoint that is meant; absent: that of the same URL, or a new one */
                    id?: string | undefined;
                    /** @description Attempts that each node makes at a time at most, 1 to 128; `null`: as many as it proves to take */
                    maxConcurrent?: (number | null) | undefined;
                    /** @description Requests a second that each node sends it at most, 1 to 1,000, spread evenly; `null`: no bound */
                    maxPerSecond?: (number | null) | undefined;
                    /**
                     * @description Method of the request; `POST` where it is absent
                     * @enum {string}
                     */
                    method?: ("POST" | "PUT" | "PATCH") | undefined;
                    /** @description Pauses between attempts there; `null`: as at its destination */
                    retryPauses?: (components["schemas"]["RetryPausesInput"] | null) | undefined;
                    /** @description For how long after its first attempt an event is retried there, 1 to 72 hours; `null`: as at its destination */
                    retryWindowHours?: (number | null) | undefined;
                    /** @description Statuses beside 2xx by which it takes an event: 300 to 499, or ranges as in `"400-404"`; at most 20 */
                    successStatuses?: (number | string)[] | undefined;
                    /** @description How long it has for the head of its answer, 1 to 30 seconds; 5 where it is absent */
                    timeoutSeconds?: number | undefined;
                    /** @description Where requests go: http or https, at most 2,048 characters, without user name and password */
                    url: string;
                }[] | undefined;
            } | undefined;
            /** @description All sources whose events it gets from now on, at most 1,000 */
            sourceIds?: string[] | undefined;
            /**
             * @description Whether one endpoint is enough (`any`), or all must take each event
             * @enum {string}
             */
            successPolicy?: ("any" | "all") | undefined;
        };
        EndpointTest: {
            /** @description What each endpoint answered, in their order */
            results: {
                /** @description From the beginning of the request to the end of its answer or its failure, in milliseconds */
                durationMs: number;
                /** @description Null for an endpoint that is not saved */
                endpointId: string | null;
                /** @description Why it failed, in words; absent on success */
                error?: string | undefined;
                /** @description Beginning of a failed answer's body, cleaned: at most 1,024 bytes; absent where there is none */
                excerpt?: string | undefined;
                /**
                 * @description What a delivery would make of the answer: taken, tried again, or given up
                 * @enum {string}
                 */
                outcome: "delivered" | "unavailable" | "rejected";
                /** @description The request that was sent */
                request: {
                    /** @description Its body, as text */
                    body: string;
                    /** @description Its headers, those of the signature included */
                    headers: {
                        [key: string]: string;
                    };
                    /**
                     * @description Method of the request; `POST` where it is absent
                     * @enum {string}
                     */
                    method?: ("POST" | "PUT" | "PATCH") | undefined;
                };
                /** @description HTTP status of the answer; absent when there was none */
                status?: number | undefined;
                /** @description Where the request went */
                url: string;
            }[];
        };
        Error: {
            /** @enum {string} */
            code: "bad_request" | "type_unknown" | "id_required" | "id_not_string" | "id_too_long" | "id_malformed" | "event_not_defined" | "event_not_string" | "name_not_string" | "properties_not_object" | "traits_not_object" | "context_not_object" | "integrations_not_object" | "timestamp_malformed" | "too_deep" | "call_too_large" | "empty_batch" | "unauthorized" | "unknown_write_key" | "source_disabled" | "forbidden" | "not_found" | "method_not_allowed" | "request_timeout" | "conflict" | "erased" | "too_large" | "unsupported_media_type" | "inbox_full" | "too_many_requests" | "internal_error" | "unavailable";
            message: string;
            path?: string | undefined;
            /** @constant */
            success: false;
        };
        Filter: {
            /** @description Names that are taken, of track calls, pages and screens, at most 100; `*` stands for any characters. Calls without a name are not taken */
            events?: string[] | undefined;
            /** @description Rule that the event must fulfil, as endpoints receive it */
            match?: components["schemas"]["Rule"] | undefined;
            /** @description Share of the users whose events are taken, 0 to 1: of a user all or none, always the same users */
            sample?: number | undefined;
            /** @description Types of calls that are taken */
            types?: ("track" | "page" | "screen" | "identify" | "group" | "alias")[] | undefined;
        };
        FilterInput: {
            /** @description Names that are taken, of track calls, pages and screens, at most 100; `*` stands for any characters. Calls without a name are not taken */
            events?: string[] | undefined;
            /** @description Rule that the event must fulfil, as endpoints receive it */
            match?: components["schemas"]["RuleInput"] | undefined;
            /** @description Share of the users whose events are taken, 0 to 1: of a user all or none, always the same users */
            sample?: number | undefined;
            /** @description Types of calls that are taken */
            types?: ("track" | "page" | "screen" | "identify" | "group" | "alias")[] | undefined;
        };
        LiftedSuppressions: {
            /** @description How many of the users were suppressed there */
            lifted: number;
            /** @description How many of them are suppressed still: in all sources, which a call that names sources does not end */
            remaining: number;
        };
        LiftSuppressions: {
            /** @description Only for these sources, where the requests named them; everywhere unless given */
            sourceIds?: string[] | undefined;
            /** @description Users whose later events are to be delivered again, 1 to 1,000; each id 1 to 32,768 characters */
            userIds: string[];
        };
        Mapping: {
            /** @description Paths of what goes, 1 to 100 */
            drop?: string[] | undefined;
            /** @description JSONata that makes of what the others left the object that is sent, at most 8,192 characters */
            expression?: string | undefined;
            /** @description Paths of texts and numbers in whose place their SHA-256 is sent, 64 hexadecimal digits, 1 to 100; of an e-mail address trimmed and in lower case */
            hash?: string[] | undefined;
            /** @description Paths of what stays, 1 to 100; all else goes */
            keep?: string[] | undefined;
            /** @description Where values go, by the path at which they stand, at most 100 */
            rename?: {
                [key: string]: string;
            } | undefined;
            /** @description Values by the path at which they are put, at most 100; what stands there is replaced */
            set?: {
                [key: string]: string | number | boolean | null;
            } | undefined;
        };
        MappingInput: {
            /** @description Paths of what goes, 1 to 100 */
            drop?: string[] | undefined;
            /** @description JSONata that makes of what the others left the object that is sent, at most 8,192 characters */
            expression?: string | undefined;
            /** @description Paths of texts and numbers in whose place their SHA-256 is sent, 64 hexadecimal digits, 1 to 100; of an e-mail address trimmed and in lower case */
            hash?: string[] | undefined;
            /** @description Paths of what stays, 1 to 100; all else goes */
            keep?: string[] | undefined;
            /** @description Where values go, by the path at which they stand, at most 100 */
            rename?: {
                [key: string]: string;
            } | undefined;
            /** @description Values by the path at which they are put, at most 100; what stands there is replaced */
            set?: {
                [key: string]: string | number | boolean | null;
            } | undefined;
        };
        MemberChange: {
            /**
             * @description Users to add, at most 100,000; none unless given
             * @default []
             */
            add?: unknown[] | undefined;
            /**
             * @description Users to remove, at most 100,000; none unless given
             * @default []
             */
            remove?: unknown[] | undefined;
        };
        NewAlertChannel: {
            /** @description Where this app is, for the links; none unless given */
            appUrl?: string | undefined;
            /** @description Name for people, 1 to 200 characters */
            name: string;
            /** @description Where alerts go, and how */
            settings: {
                /**
                 * @description A signed `POST` of JSON
                 * @constant
                 */
                kind: "webhook";
                /** @description Signs, as the secret of a destination */
                sharedSecret?: string | undefined;
                /** @description Where it goes: http or https, at most 2,048 characters */
                url: string;
            } | {
                /**
                 * @description A message through an incoming webhook of Slack
                 * @constant
                 */
                kind: "slack";
                /** @description The incoming webhook, as Slack shows it */
                url: string;
            } | {
                /** @description Address of the sender */
                from: string;
                /**
                 * @description E-mail by SMTP
                 * @constant
                 */
                kind: "email";
                /** @description Server, as in `smtp://user:password@mail.example.com:587` */
                smtpUrl: string;
                /** @description Addresses that get it, 1 to 10 */
                to: string[];
            };
        };
        NewApiToken: {
            /** @description 1 to 200 characters, not `admin`; each change in the audit log tells it */
            name: string;
            /**
             * @description What the token may do
             * @enum {string}
             */
            role: "admin" | "viewer";
        };
        NewAudience: {
            /**
             * @description Destinations that are told of its members, at most 100; none unless given
             * @default []
             */
            destinationIds?: string[] | undefined;
            /** @description The trait's name; absent: the name in snake_case */
            key?: string | undefined;
            /**
             * @description What users have of it: that they are in it (`audience`, the default), or a value of their own (`trait`)
             * @default audience
             * @enum {string}
             */
            kind?: ("audience" | "trait") | undefined;
            /**
             * @description Share of rows that may be bad before a sync fails, from 0 to 1; 0 unless given
             * @default 0
             */
            maxBadRowShare?: number | undefined;
            /**
             * @description Most Identify calls a second to each destination, from 1 to 100,000; null, the default: as many as it takes
             * @default null
             */
            maxPerSecond?: (number | null) | undefined;
            /**
             * @description Share of a destination's members that a sync may remove before it must be confirmed, from 0 to 1; 0.5 unless given
             * @default 0.5
             */
            maxRemovalShare?: number | undefined;
            /**
             * @description Where its members come from; they are uploaded unless given
             * @default {
             *       "kind": "push"
             *     }
             */
            membership?: ({
                /**
                 * @description Members are uploaded
                 * @constant
                 */
                kind: "push";
            } | {
                /**
                 * @description What the answer is; absent: as its Content-Type says
                 * @enum {string}
                 */
                format?: ("ndjson" | "csv" | "json") | undefined;
                /** @description Sent to the origin of `url` alone; in a change, absent headers stay as they are while the origin stays */
                headers?: {
                    [key: string]: string;
                } | undefined;
                /**
                 * @description Members are fetched over HTTP at each sync
                 * @constant
                 */
                kind: "http";
                /**
                 * Format: uri
                 * @description Where the membership is fetched, at most 2,048 characters
                 */
                url: string;
            } | {
                /** @description `postgres://user:password@host:port/database?sslmode=…`; in a change, absent means unchanged */
                connectionString?: string | undefined;
                /**
                 * @description Members are read by a SQL statement at each sync
                 * @constant
                 */
                kind: "sql";
                /** @description One statement that gives a column `user_id`, for computed traits `value`; further columns become traits */
                query: string;
                /**
                 * @description How long the statement may take, in seconds; 300 unless given
                 * @default 300
                 */
                statementTimeoutSeconds?: number | undefined;
            }) | undefined;
            /** @description Name for people, 1 to 200 characters */
            name: string;
            /** @description When syncs start by themselves; never unless given */
            schedule?: (components["schemas"]["AudienceScheduleInput"] | null) | undefined;
        };
        NewDeletionRequest: {
            /** @description Only these sources; all with a destination that is switched on unless given */
            sourceIds?: string[] | undefined;
            /**
             * @description Whether later events of these users are dropped at the door; `false` unless given
             * @default false
             */
            suppress?: boolean | undefined;
            /** @description Users to delete, 1 to 5,000; each id 1 to 32,768 characters */
            userIds: string[];
        };
        NewDestination: {
            /**
             * @description Whether events go to it; `true` unless given
             * @default true
             */
            enabled?: boolean | undefined;
            /** @description Which of their events it takes; all unless given */
            filter?: (components["schemas"]["FilterInput"] | null) | undefined;
            /** @description With `hold`, after how long a failure they are held, 1 to 86,400 seconds; 300 unless given */
            holdAfterSeconds?: number | undefined;
            /** @description What becomes of an event before it is sent; sent as it is unless given */
            mapping?: (components["schemas"]["MappingInput"] | null) | undefined;
            /** @description Name for people, 1 to 200 characters */
            name: string;
            /**
             * @description What becomes of deliveries while every endpoint fails: retried until their window is over (`retry`, the default), or held until one answers (`hold`)
             * @enum {string}
             */
            onFailing?: ("retry" | "hold") | undefined;
            /** @description Whether each user's events go one after the other, in the order in which they came: an event waits as a whole, at its other destinations, too; side by side unless given */
            orderPerUser?: ({
                /** @description For how long an event waits at most for those before it of the same user, 1 to 86,400 seconds */
                maxWaitSeconds: number;
            } | null) | undefined;
            /** @description Pauses between attempts; as the node is set up, and longer in a longer window, unless given */
            retryPauses?: (components["schemas"]["RetryPausesInput"] | null) | undefined;
            /** @description For how long after its first attempt an event is retried, 1 to 72 hours; as the node is set up unless given */
            retryWindowHours?: (number | null) | undefined;
            /** @description Where requests go, and what signs them */
            settings: {
                /** @description Secret that signs, 1 to 1,024 characters; not signed unless given */
                sharedSecret?: (string | null) | undefined;
                /**
                 * @description Endpoints, at most 5; none unless given
                 * @default []
                 */
                webhooks?: {
                    /**
                     * @description Whether its requests have the event as JSON or as the fields of a form; `json` where it is absent
                     * @enum {string}
                     */
                    contentType?: ("json" | "form") | undefined;
                    /** @description Static headers of each request, at most 50, each value at most 4,096 characters; absent: as before */
                    headers?: {
                        [key: string]: string;
                    } | undefined;
                    /** @description The endpoint that is meant; absent: that of the same URL, or a new one */
                    id?: string | undefined;
                    /** @description Attempts that each node makes at a time at most, 1 to 128; `null`: as many as it proves to take */
                    maxConcurrent?: (number | null) | undefined;
                    /** @description Requests a second that each node sends it at most, 1 to 1,000, spread evenly; `null`: no bound */
                    maxPerSecond?: (number | null) | undefined;
                    /**
                     * @description Method of the request; `POST` where it is absent
                     * @enum {string}
                     */
                    method?: ("POST" | "PUT" | "PATCH") | undefined;
                    /** @description Pauses between attempts there; `null`: as at its destination */
                    retryPauses?: (components["schemas"]["RetryPausesInput"] | null) | undefined;
                    /** @description For how long after its first attempt an event is retried there, 1 to 72 hours; `null`: as at its destination */
                    retryWindowHours?: (number | null) | undefined;
                    /** @description Statuses beside 2xx by which it takes an event: 300 to 499, or ranges as in `"400-404"`; at most 20 */
                    successStatuses?: (number | string)[] | undefined;
                    /** @description How long it has for the head of its answer, 1 to 30 seconds; 5 where it is absent */
                    timeoutSeconds?: number | undefined;
                    /** @description Where requests go: http or https, at most 2,048 characters, without user name and password */
                    url: string;
                }[] | undefined;
            };
            /**
             * @description Sources whose events it gets, at most 1,000; none unless given
             * @default []
             */
            sourceIds?: string[] | undefined;
            /**
             * @description Whether one endpoint is enough (`any`, the default), or all must take each event
             * @default any
             * @enum {string}
             */
            successPolicy?: ("any" | "all") | undefined;
            /**
             * @description Kind of the destination: there is one
             * @constant
             */
            type: "webhooks";
        };
        NewSource: {
            /** @description Name for people, 1 to 200 characters */
            name: string;
        };
        Onboarding: {
            /** @description Whether a destination is connected to a source */
            destinationConnected: boolean;
            /** @description Whether an event was ever delivered */
            firstEventDelivered: boolean;
            /** @description Whether an event ever came */
            firstEventReceived: boolean;
            /** @description Whether there is a source */
            sourceCreated: boolean;
        };
        Overview: {
            /** @description What the attempts that succeeded took alone */
            attemptDuration: {
                /** @description What half of them did not exceed, in milliseconds; null where nothing succeeded */
                p50Ms: number | null;
                /** @description What 95 of 100 did not exceed, in milliseconds; null where nothing succeeded */
                p95Ms: number | null;
            };
            /** @description Endpoints whose latest attempt, or call of a sync, failed */
            failingEndpoints: {
                /** @description Id of the destination */
                destinationId: string;
                /** @description Id of the endpoint */
                endpointId: string;
                /** @description Attempts of events at it that failed in the range; the calls of syncs are not in it */
                failed: number;
                /** @description Whether that failure is final: an event that fails so is not tried again at this endpoint */
                isFinal: boolean;
                /** @description Why its latest attempt failed, in words */
                reason: string;
                /**
                 * Format: date-time
                 * @description Since when its attempts fail, ISO 8601
                 */
                since: string;
                /** @description Where its requests go */
                url: string;
            }[];
            /** @description How many events came to what */
            funnel: {
                /** @description Taken for delivery */
                accepted: number;
                /** @description Deliveries that an operator stopped; null while Temporal does not answer */
                cancelled: number | null;
                /** @description Deliveries that all destinations took; null while Temporal does not answer */
                delivered: number | null;
                /** @description Deliveries at their first attempts; null while Temporal does not answer */
                delivering: number | null;
                /** @description Deliveries whose destinations were switched off or deleted; null while Temporal does not answer */
                discarded: number | null;
                /** @description Accepted, but known already */
                duplicate: number;
                /** @description Deliveries that no destination took; null while Temporal does not answer */
                failed: number | null;
                /** @description Kept from all destinations by their `integrations` */
                filtered: number;
                /** @description Deliveries that wait for a paused destination; null while Temporal does not answer */
                held: number | null;
                /** @description Of a source without a destination that is switched on */
                noDestination: number;
                /** @description Deliveries that some destinations took, and others never will; null while Temporal does not answer */
                partly_delivered: number | null;
                /** @description Accepted, and still in the inbox */
                queued: number;
                /** @description Everything that came to the door, in any form */
                received: number;
                /** @description Refused: the caller was told why */
                rejected: number;
                /** @description Deliveries between attempts; null while Temporal does not answer */
                retrying: number | null;
                /** @description Dropped, as their user is deleted */
                suppressed: number;
            };
            /** @description Events that wait for their delivery to start */
            inboxDepth: number;
            /** @description From the moment when an event was accepted to its success at an endpoint: the inbox, retries and pauses included */
            latency: {
                /** @description What half of them did not exceed, in milliseconds; null where nothing succeeded */
                p50Ms: number | null;
                /** @description What 95 of 100 did not exceed, in milliseconds; null where nothing succeeded */
                p95Ms: number | null;
            };
            /** @description How many events were refused for which reason, the most frequent first */
            rejectedReasons: {
                /** @description Events that were refused for it */
                events: number;
                /** @description Code of the error, as in `id_required` */
                reason: string;
            }[];
            /** @description At most 125 equal steps; `delivered` and `failed` count requests to endpoints */
            series: {
                /** @description Events that were taken in the step */
                accepted: number;
                /**
                 * Format: date-time
                 * @description Beginning of the step, ISO 8601
                 */
                at: string;
                /** @description Requests to endpoints that succeeded in the step */
                delivered: number;
                /** @description Requests to endpoints that failed in the step */
                failed: number;
                /** @description Events that came to the door in the step */
                received: number;
                /** @description Events that were refused in the step */
                rejected: number;
            }[];
        };
        Preview: {
            /** @description Those of them that are not members */
            badRows: number;
            /** @description The first bad rows, with their line numbers */
            badRowSample: {
                /** @description Line of the upload or answer, from 1; of a JSON array or a query, the place of the row */
                line: number;
                /** @description What is wrong with it, in words */
                reason: string;
            }[];
            /** @description What each destination would be told */
            destinations: {
                /** @description Users that it would be told to add */
                added: number;
                /** @description Id of the destination */
                destinationId: string;
                /** @description Whether a sync would be refused until it is confirmed */
                needsConfirmation: boolean;
                /** @description Users that it would be told to remove */
                removed: number;
                /** @description Bodies of the first Identify calls */
                sample: {
                    [key: string]: unknown;
                }[];
                /** @description Users of which it knows already what there is to know */
                unchanged: number;
            }[];
            /** @description Why a sync would fail and send nothing; null when it would not */
            refusal: string | null;
            /** @description Rows of the membership that were read, good and bad */
            rowsRead: number;
        };
        Rehearsal: {
            /** @description Those of them that the mapping changes */
            changed: number;
            /** @description Events that would be left out */
            dropped: number;
            /** @description Events that would fail, since the mapping cannot be applied */
            failed: number;
            /** @description Newest first, at most 10 of each outcome */
            items: {
                /** @description What endpoints would get; null: nothing */
                after: {
                    [key: string]: unknown;
                } | null;
                /**
                 * Format: date-time
                 * @description When it came, ISO 8601
                 */
                at: string;
                /** @description The event as it is recorded */
                before: {
                    [key: string]: unknown;
                };
                /** @description Message id of the event; of a long one its beginning */
                messageId: string;
                /**
                 * @description What would have become of it
                 * @enum {string}
                 */
                outcome: "sent" | "changed" | "dropped" | "failed";
                /** @description What of the filter it does not fit, or why the mapping could not be applied; null for one that is sent */
                reason: string | null;
                /** @description Source that it came to */
                sourceId: string;
            }[];
            /** @description Events that would be sent, changed ones too */
            sent: number;
            /** @description When the oldest of them came, ISO 8601; null where there are none */
            since: string | null;
            /** @description Events that it was tried on */
            tried: number;
        };
        RetryPauses: {
            /** @description Pause before the first retry, 1 to 3,600 seconds; each further one is twice as long */
            firstSeconds: number;
            /** @description Longest pause, 10 to 43,200 seconds, no shorter than the first */
            maxSeconds: number;
        };
        RetryPausesInput: {
            /** @description Pause before the first retry, 1 to 3,600 seconds; each further one is twice as long */
            firstSeconds: number;
            /** @description Longest pause, 10 to 43,200 seconds, no shorter than the first */
            maxSeconds: number;
        };
        Rule: {
            /** @description Rules that must all hold */
            all?: components["schemas"]["Rule"][] | undefined;
            /** @description Rules of which at least one must hold */
            any?: components["schemas"]["Rule"][] | undefined;
            /** @description A rule that must not hold */
            not?: components["schemas"]["Rule"] | undefined;
            /**
             * @description How the value at the path is compared
             * @enum {string}
             */
            op?: ("equals" | "oneOf" | "contains" | "startsWith" | "glob" | "greater" | "less" | "exists") | undefined;
            /** @description Where the value stands, as in `properties.products.0.sku`; a dot in a name is written `\.` */
            path?: string | undefined;
            /** @description What it is compared with: an array for `oneOf`, nothing for `exists` */
            value?: ((string | number | boolean | null) | (string | number | boolean | null)[]) | undefined;
        };
        RuleInput: {
            /** @description Rules that must all hold */
            all?: components["schemas"]["RuleInput"][] | undefined;
            /** @description Rules of which at least one must hold */
            any?: components["schemas"]["RuleInput"][] | undefined;
            /** @description A rule that must not hold */
            not?: components["schemas"]["RuleInput"] | undefined;
            /**
             * @description How the value at the path is compared
             * @enum {string}
             */
            op?: ("equals" | "oneOf" | "contains" | "startsWith" | "glob" | "greater" | "less" | "exists") | undefined;
            /** @description Where the value stands, as in `properties.products.0.sku`; a dot in a name is written `\.` */
            path?: string | undefined;
            /** @description What it is compared with: an array for `oneOf`, nothing for `exists` */
            value?: ((string | number | boolean | null) | (string | number | boolean | null)[]) | undefined;
        };
        Session: {
            /** @description When the session ends by itself, ISO 8601; null for a request with a bearer token, which has none */
            expiresAt: string | null;
            /**
             * @description What the caller may do
             * @enum {string}
             */
            role: "admin" | "viewer";
        };
        SignIn: {
            /** @description The admin token or an API token, at most 1,024 characters */
            token: string;
        };
        Source: {
            /**
             * Format: date-time
             * @description When it was made, ISO 8601
             */
            createdAt: string;
            /** @description Whether its events are taken */
            enabled: boolean;
            /** @description Id of the source */
            id: string;
            /** @description Name for people */
            name: string;
            /** @description The replaced write keys that still count, those that end first first */
            previousKeyEnds: {
                /**
                 * Format: date-time
                 * @description When the key ends, ISO 8601
                 */
                expiresAt: string;
                /** @description The beginning of the key; to viewers it is masked */
                keyBegins: string;
            }[];
            /** @description When the last of the replaced write keys ends; null when none counts any more */
            previousKeyExpiresAt: string | null;
            /** @description Opens the ingest API; to viewers it is masked */
            writeKey: string;
        };
        SourcePatch: {
            /** @description Whether its events are taken; those of one that is switched off are refused */
            enabled?: boolean | undefined;
            /** @description Another name, 1 to 200 characters */
            name?: string | undefined;
        };
        Status: {
            /** @description The database, as this node reaches it */
            database: {
                /** @description Whether it answers */
                healthy: boolean;
                /**
                 * @description An own server (`postgresql`), or embedded in the node (`pglite`)
                 * @enum {string}
                 */
                kind: "postgresql" | "pglite";
                /** @description Version of PostgreSQL; null while it does not answer */
                version: string | null;
            };
            /** @description Events that wait in the inbox; null while the database does not answer */
            inboxDepth: number | null;
            /** @description Port at which sources send, where the web app has one of its own; null where they share one */
            ingestPort: number | null;
            /** @description Where sources send, as `POSTRIDER_INGEST_URL` has it; null: at the host of the web app */
            ingestUrl: string | null;
            /** @description What does not answer: events wait for it */
            missing: {
                /**
                 * @description Which part does not answer; `worker`: no node delivers, told by nodes that do not deliver themselves
                 * @enum {string}
                 */
                part: "database" | "temporal" | "worker";
                /** @description What is known of the cause, in words */
                reason: string;
                /** @description When it was first found so */
                since: string;
            }[];
            /** @description Version of Node.js */
            nodeVersion: string;
            /** @description How long deliveries that have ended are kept, in milliseconds */
            retentionMs: number;
            /** @description The retry window, the first pause and the longest one, in milliseconds */
            retry: {
                /** @description Pause before the first retry, in milliseconds */
                initialMs: number;
                /** @description Longest pause, in milliseconds */
                maxMs: number;
                /** @description From the first attempt on, in milliseconds; nothing is tried after it */
                windowMs: number;
            };
            /** @description Temporal, as this node reaches it */
            temporal: {
                /** @description Host and port of its front end */
                address: string;
                /** @description Whether it answers */
                healthy: boolean;
                /** @description Namespace that deliveries run in */
                namespace: string;
                /** @description Version of the server; null while it does not answer */
                serverVersion: string | null;
                /** @description Address of its UI; null where none is known */
                uiUrl: string | null;
            };
            /** @description Version of Postrider */
            version: string;
        };
        Steerable: {
            /** @description Deliveries that match */
            matched: number;
            /** @description What keeps the action from the others */
            obstacles: {
                /** @description How many it keeps it from */
                count: number;
                /**
                 * @description What keeps the action from them
                 * @enum {string}
                 */
                obstacle: "held" | "over" | "under_way" | "queued" | "no_destination" | "gone";
            }[];
            /** @description Of a redelivery: how many of those on which it can act were delivered again before */
            redelivered?: number | undefined;
            /** @description Those of them on which the action can act */
            steerable: number;
        };
        Sync: {
            /** @description Members whom some destination does not know yet, or with another value; also one that is switched off */
            added: number;
            /** @description Id of its audience */
            audienceId: string;
            /** @description Those of them that are not members */
            badRows: number;
            /** @description The first bad rows, with their line numbers */
            badRowSample: {
                /** @description Line of the upload or answer, from 1; of a JSON array or a query, the place of the row */
                line: number;
                /** @description What is wrong with it, in words */
                reason: string;
            }[];
            /** @description When it ended, ISO 8601; null while it has not */
            endedAt: string | null;
            /** @description Refused for good, now or at the end of that window: sent again by the next sync */
            failed: number;
            /** @description Users whose call failed and got a delivery of its own, which tries for its whole window */
            handedOn: number;
            /** @description Id of the sync */
            id: string;
            /**
             * @description What it does
             * @enum {string}
             */
            kind: "upload" | "change" | "sync" | "resync" | "undo" | "delete";
            /**
             * @description Where a running sync stands; a waiting one has status `running` and no `startedAt`
             * @enum {string}
             */
            phase: "waiting" | "loading" | "comparing" | "sending" | "ended";
            /** @description Identify calls a second since the sending began */
            rate: number;
            /** @description Why it failed, was refused or stopped, in words; of one that completed, the first call that failed for good: the id of the destination and why, or which destination was passed over; null otherwise */
            reason: string | null;
            /** @description Users who are in the audience no more, and whom some destination knows as members */
            removed: number;
            /**
             * Format: date-time
             * @description When it was asked for, ISO 8601
             */
            requestedAt: string;
            /** @description Rows of the membership that were read, good and bad */
            rowsRead: number;
            /** @description Delivered at the first attempt */
            sent: number;
            /** @description When it began, ISO 8601; null while it waits for its turn */
            startedAt: string | null;
            /**
             * @description How it stands; `refused` waits to be confirmed
             * @enum {string}
             */
            status: "running" | "completed" | "failed" | "refused" | "stopped";
            /** @description Users of which there is nothing to tell */
            unchanged: number;
            /** @description Whether it told something that can be taken back */
            undoable: boolean;
            /** @description Whether it is still known whom it told what */
            usersKept: boolean;
        };
        SyncUser: {
            /**
             * @description What it is told: `changed` is another value, `repeated` what it knew already
             * @enum {string}
             */
            change: "added" | "removed" | "changed" | "repeated";
            /** @description Id of its own delivery, of one that was handed on; null otherwise */
            deliveryId: string | null;
            /** @description Id of the destination that is told; null when it is gone */
            destinationId: string | null;
            /**
             * @description What became of it
             * @enum {string}
             */
            outcome: "open" | "sent" | "handed_on" | "failed" | "withheld";
            /** @description Id of the user */
            userId: string;
            /** @description Of a computed trait; null in an audience, and where it is gone */
            value: unknown;
        };
        TurnedAwayDetail: {
            /**
             * Format: date-time
             * @description When it came, ISO 8601
             */
            at: string;
            /** @description JSON, of a long one its beginning; null where it could not be told apart from others */
            body: string | null;
            /** @description Name of the event; null where it has none, or none that could be read */
            event: string | null;
            /**
             * @description What became of it
             * @enum {string}
             */
            fate: "rejected" | "filtered" | "no_destination" | "suppressed" | "dropped";
            /** @description Id under which it can be looked at */
            id: string;
            /** @description The sentence that the caller got, or which filters left it out */
            message: string | null;
            /** @description Message id of the event; null where none could be read */
            messageId: string | null;
            /** @description Code of the error that refused it, or `filtered_by_rules`; null for other fates, and where its `integrations` alone exclude all */
            reason: string | null;
            /** @description Source that it came to */
            sourceId: string;
            /** @description Null where the caller's could not be read; likewise the others */
            type: string | null;
            /** @description User of the event; null where it has none, or none that could be read */
            userId: string | null;
        };
        TurnedAwayEvent: {
            /**
             * Format: date-time
             * @description When it came, ISO 8601
             */
            at: string;
            /** @description Name of the event; null where it has none, or none that could be read */
            event: string | null;
            /**
             * @description What became of it
             * @enum {string}
             */
            fate: "rejected" | "filtered" | "no_destination" | "suppressed" | "dropped";
            /** @description Id under which it can be looked at */
            id: string;
            /** @description The sentence that the caller got, or which filters left it out */
            message: string | null;
            /** @description Message id of the event; null where none could be read */
            messageId: string | null;
            /** @description Code of the error that refused it, or `filtered_by_rules`; null for other fates, and where its `integrations` alone exclude all */
            reason: string | null;
            /** @description Source that it came to */
            sourceId: string;
            /** @description Null where the caller's could not be read; likewise the others */
            type: string | null;
            /** @description User of the event; null where it has none, or none that could be read */
            userId: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Activity = components['schemas']['Activity'];
export type Alert = components['schemas']['Alert'];
export type AlertChannel = components['schemas']['AlertChannel'];
export type AlertChannelPatch = components['schemas']['AlertChannelPatch'];
export type AlertRules = components['schemas']['AlertRules'];
export type AlertRulesInput = components['schemas']['AlertRulesInput'];
export type ApiToken = components['schemas']['ApiToken'];
export type Audience = components['schemas']['Audience'];
export type AudienceMember = components['schemas']['AudienceMember'];
export type AudiencePatch = components['schemas']['AudiencePatch'];
export type AudienceSchedule = components['schemas']['AudienceSchedule'];
export type AudienceScheduleInput = components['schemas']['AudienceScheduleInput'];
export type AuditEntry = components['schemas']['AuditEntry'];
export type BulkSteering = components['schemas']['BulkSteering'];
export type CatalogItem = components['schemas']['CatalogItem'];
export type CreatedApiToken = components['schemas']['CreatedApiToken'];
export type DeletionRequest = components['schemas']['DeletionRequest'];
export type DeletionRequestDetail = components['schemas']['DeletionRequestDetail'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryAttempt = components['schemas']['DeliveryAttempt'];
export type DeliveryDestination = components['schemas']['DeliveryDestination'];
export type DeliveryDetail = components['schemas']['DeliveryDetail'];
export type Destination = components['schemas']['Destination'];
export type DestinationPatch = components['schemas']['DestinationPatch'];
export type EndpointTest = components['schemas']['EndpointTest'];
export type Error = components['schemas']['Error'];
export type Filter = components['schemas']['Filter'];
export type FilterInput = components['schemas']['FilterInput'];
export type LiftedSuppressions = components['schemas']['LiftedSuppressions'];
export type LiftSuppressions = components['schemas']['LiftSuppressions'];
export type Mapping = components['schemas']['Mapping'];
export type MappingInput = components['schemas']['MappingInput'];
export type MemberChange = components['schemas']['MemberChange'];
export type NewAlertChannel = components['schemas']['NewAlertChannel'];
export type NewApiToken = components['schemas']['NewApiToken'];
export type NewAudience = components['schemas']['NewAudience'];
export type NewDeletionRequest = components['schemas']['NewDeletionRequest'];
export type NewDestination = components['schemas']['NewDestination'];
export type NewSource = components['schemas']['NewSource'];
export type Onboarding = components['schemas']['Onboarding'];
export type Overview = components['schemas']['Overview'];
export type Preview = components['schemas']['Preview'];
export type Rehearsal = components['schemas']['Rehearsal'];
export type RetryPauses = components['schemas']['RetryPauses'];
export type RetryPausesInput = components['schemas']['RetryPausesInput'];
export type Rule = components['schemas']['Rule'];
export type RuleInput = components['schemas']['RuleInput'];
export type Session = components['schemas']['Session'];
export type SignIn = components['schemas']['SignIn'];
export type Source = components['schemas']['Source'];
export type SourcePatch = components['schemas']['SourcePatch'];
export type Status = components['schemas']['Status'];
export type Steerable = components['schemas']['Steerable'];
export type Sync = components['schemas']['Sync'];
export type SyncUser = components['schemas']['SyncUser'];
export type TurnedAwayDetail = components['schemas']['TurnedAwayDetail'];
export type TurnedAwayEvent = components['schemas']['TurnedAwayEvent'];
export type $defs = Record<string, never>;
export interface operations {
    getActivity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Activity"];
                };
            };
        };
    };
    listAlertChannels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AlertChannel"][];
                    };
                };
            };
        };
    };
    createAlertChannel: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAlertChannel"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Made, as it is now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertChannel"];
                };
            };
        };
    };
    getAlertChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertChannel"];
                };
            };
        };
    };
    deleteAlertChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    updateAlertChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlertChannelPatch"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertChannel"];
                };
            };
        };
    };
    testAlertChannel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Why it did not */
                        error?: string | undefined;
                        /**
                         * @description Whether the channel took the test alert
                         * @enum {string}
                         */
                        outcome: "told" | "failed";
                    };
                };
            };
        };
    };
    getAlertRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRules"];
                };
            };
        };
    };
    replaceAlertRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlertRulesInput"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AlertRules"];
                };
            };
        };
    };
    previewAlertRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AlertRulesInput"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description At most 100 of them */
                        items: {
                            /**
                             * @description What it is about
                             * @enum {string}
                             */
                            kind: "endpoint_failing" | "endpoint_failing_often" | "endpoint_down" | "destination_held" | "inbox_old" | "sync_failed" | "sync_refused" | "audience_resized" | "key_ending";
                            /** @description The subject for people */
                            name: string;
                            /** @description The page of the app that shows more */
                            path: string;
                            /** @description What was seen when it began */
                            reason: string;
                            /** @description Id of the endpoint, destination, audience or source; `inbox` */
                            subject: string;
                        }[];
                    };
                };
            };
        };
    };
    listAlerts: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Alert"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    muteAlert: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description 0 to 2,592,000 s (30 days); 0 ends a mute */
                    seconds: number;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alert"];
                };
            };
        };
    };
    applySettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Changes in their order, at most 5,000 */
                    changes: {
                        /**
                         * @description How; the rules of alerts can only be updated, as a whole
                         * @enum {string}
                         */
                        action: "create" | "update" | "delete";
                        /** @description As the `POST`, `PATCH` or `PUT` of the kind takes it; ids of sources and destinations may be refs. An update of an audience may have `paused` as well */
                        body?: unknown | undefined;
                        /** @description What is updated or deleted: an id, or the `ref` of a change before */
                        id?: string | undefined;
                        /**
                         * @description What is changed
                         * @enum {string}
                         */
                        kind: "sources" | "destinations" | "audiences" | "alertRules" | "alertChannels";
                        /** @description What later changes call the id of what is created, at most 300 characters */
                        ref?: string | undefined;
                    }[];
                    /**
                     * @description Whether all of it is only tried, and nothing is changed
                     * @default false
                     */
                    dryRun?: boolean | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Whether the changes were made; false after a dry run */
                        applied: boolean;
                    };
                };
            };
        };
    };
    listAudiences: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Audience"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createAudience: {
        parameters: {
            query?: {
                uniqueName?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewAudience"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Made, as it is now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audience"];
                };
            };
        };
    };
    getAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audience"];
                };
            };
        };
    };
    deleteAudience: {
        parameters: {
            query?: {
                notify?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                        syncId: string;
                    };
                };
            };
        };
    };
    updateAudience: {
        parameters: {
            query?: {
                uniqueName?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AudiencePatch"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audience"];
                };
            };
        };
    };
    backfillAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** Format: date-time */
                    from: string;
                    /** Format: date-time */
                    to: string;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    listMembers: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
                search?: string | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AudienceMember"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    replaceMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    changeMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemberChange"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    pauseAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audience"];
                };
            };
        };
    };
    previewAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/x-ndjson": string;
                "text/csv": string;
            };
        } | undefined;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Preview"];
                };
            };
        };
    };
    resumeAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Audience"];
                };
            };
        };
    };
    resyncAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    syncAudience: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    listSyncs: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Sync"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getSync: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                syncId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sync"];
                };
            };
        };
    };
    confirmSync: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                syncId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    stopSync: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                syncId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    undoSync: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                syncId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        syncId: string;
                    };
                };
            };
        };
    };
    listSyncUsers: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
                outcome?: ("open" | "sent" | "handed_on" | "failed" | "withheld") | undefined;
                search?: string | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
                syncId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["SyncUser"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listAuditLog: {
        parameters: {
            query?: {
                /** @description Who made the change, exact */
                actor?: string | undefined;
                cursor?: string | undefined;
                limit?: number | undefined;
                /** @description Began at or after this time, ISO 8601 */
                since?: string | undefined;
                /** @description Beginning of the subjects, as in `sources` or `sources/src_…` */
                subject?: string | undefined;
                /** @description Began before this time, ISO 8601 */
                until?: string | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["AuditEntry"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getCatalog: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["CatalogItem"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listDeletedNames: {
        parameters: {
            query: {
                /** @description Ids, separated by commas; at most 100 */
                ids: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: {
                            /**
                             * Format: date-time
                             * @description When it was deleted, ISO 8601
                             */
                            deletedAt: string;
                            /** @description Id of the source, destination or audience */
                            id: string;
                            /** @description Its name when it was deleted */
                            name: string;
                        }[];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listDeletionRequests: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["DeletionRequest"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createDeletionRequest: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDeletionRequest"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletionRequestDetail"];
                };
            };
        };
    };
    getDeletionRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletionRequestDetail"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                /** @description One of the destinations that it goes to */
                destinationId?: string | undefined;
                /** @description Name of the event, exact and in full */
                event?: string | undefined;
                limit?: number | undefined;
                /** @description Message id of the event, exact and in full */
                messageId?: string | undefined;
                /** @description Started at or after this time */
                since?: string | undefined;
                /** @description Source that the event came from */
                sourceId?: string | undefined;
                /** @description Where it stands; beside `destinationId`, where it stands at that destination */
                status?: ("queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled") | undefined;
                /** @description Type of the call, or `delete` */
                type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                /** @description Started before this time */
                until?: string | undefined;
                /** @description User of the event, exact and in full */
                userId?: string | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Delivery"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDetail"];
                };
            };
        };
    };
    cancelDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Why it is steered, at most 500 characters; it stands in the delivery's history */
                    why?: string | undefined;
                } | null;
            };
        } | undefined;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        became: "retrying" | "started" | "queued" | "cancelled" | "cancelling";
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    redeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description To whom it is sent again; unless given, to all of its destinations, and what was redelivered to one endpoint, to that endpoint */
                    only?: {
                        /** @description To this destination of it alone */
                        destinationId?: string | undefined;
                        /** @description To this endpoint of it alone */
                        endpointId?: string | undefined;
                    } | undefined;
                    /** @description Leaves out what was delivered again before; false unless given */
                    unlessRedelivered?: boolean | undefined;
                    /** @description Why it is sent again, at most 500 characters; it stands in the delivery's history */
                    why?: string | undefined;
                } | null;
            };
        } | undefined;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                    };
                };
            };
        };
    };
    retryDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Why it is steered, at most 500 characters; it stands in the delivery's history */
                    why?: string | undefined;
                } | null;
            };
        } | undefined;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        became: "retrying" | "started" | "queued" | "cancelled" | "cancelling";
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    getBulkSteering: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkSteering"];
                };
            };
        };
    };
    stopBulkSteering: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    cancelMatching: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description One of the destinations that it goes to */
                    destinationId?: string | undefined;
                    /** @description Name of the event, exact and in full */
                    event?: string | undefined;
                    /** @description Message id of the event, exact and in full */
                    messageId?: string | undefined;
                    /**
                     * Format: date-time
                     * @description Started at or after this time
                     */
                    since?: string | undefined;
                    /** @description Source that the event came from */
                    sourceId?: string | undefined;
                    /**
                     * @description Where it stands; beside `destinationId`, where it stands at that destination
                     * @enum {string}
                     */
                    status?: ("queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled") | undefined;
                    /**
                     * @description Type of the call, or `delete`
                     * @enum {string}
                     */
                    type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                    /**
                     * Format: date-time
                     * @description Started before this time
                     */
                    until?: string | undefined;
                    /** @description User of the event, exact and in full */
                    userId?: string | undefined;
                    /** @description Why they are steered, at most 500 characters; it stands in each delivery's history */
                    why?: string | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkSteering"];
                };
            };
        };
    };
    countDeliveries: {
        parameters: {
            query?: {
                /** @description One of the destinations that it goes to */
                destinationId?: string | undefined;
                /** @description Name of the event, exact and in full */
                event?: string | undefined;
                /** @description Message id of the event, exact and in full */
                messageId?: string | undefined;
                /** @description Started at or after this time */
                since?: string | undefined;
                /** @description Source that the event came from */
                sourceId?: string | undefined;
                /** @description Where it stands; beside `destinationId`, where it stands at that destination */
                status?: ("queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled") | undefined;
                /** @description Type of the call, or `delete` */
                type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                /** @description Started before this time */
                until?: string | undefined;
                /** @description User of the event, exact and in full */
                userId?: string | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        count: number;
                    };
                };
            };
        };
    };
    redeliverMatching: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description One of the destinations that it goes to */
                    destinationId?: string | undefined;
                    /** @description Name of the event, exact and in full */
                    event?: string | undefined;
                    /** @description Message id of the event, exact and in full */
                    messageId?: string | undefined;
                    /** @description To whom it is sent again; unless given, to all of its destinations, and what was redelivered to one endpoint, to that endpoint */
                    only?: {
                        /** @description To this destination of it alone */
                        destinationId?: string | undefined;
                        /** @description To this endpoint of it alone */
                        endpointId?: string | undefined;
                    } | undefined;
                    /**
                     * Format: date-time
                     * @description Started at or after this time
                     */
                    since?: string | undefined;
                    /** @description Source that the event came from */
                    sourceId?: string | undefined;
                    /**
                     * @description Where it stands; beside `destinationId`, where it stands at that destination
                     * @enum {string}
                     */
                    status?: ("queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled") | undefined;
                    /**
                     * @description Type of the call, or `delete`
                     * @enum {string}
                     */
                    type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                    /** @description Leaves out what was delivered again before; false unless given */
                    unlessRedelivered?: boolean | undefined;
                    /**
                     * Format: date-time
                     * @description Started before this time
                     */
                    until?: string | undefined;
                    /** @description User of the event, exact and in full */
                    userId?: string | undefined;
                    /** @description Why they are steered, at most 500 characters; it stands in each delivery's history */
                    why?: string | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkSteering"];
                };
            };
        };
    };
    retryMatching: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description One of the destinations that it goes to */
                    destinationId?: string | undefined;
                    /** @description Name of the event, exact and in full */
                    event?: string | undefined;
                    /** @description Message id of the event, exact and in full */
                    messageId?: string | undefined;
                    /**
                     * Format: date-time
                     * @description Started at or after this time
                     */
                    since?: string | undefined;
                    /** @description Source that the event came from */
                    sourceId?: string | undefined;
                    /**
                     * @description Where it stands; beside `destinationId`, where it stands at that destination
                     * @enum {string}
                     */
                    status?: ("queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled") | undefined;
                    /**
                     * @description Type of the call, or `delete`
                     * @enum {string}
                     */
                    type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                    /**
                     * Format: date-time
                     * @description Started before this time
                     */
                    until?: string | undefined;
                    /** @description User of the event, exact and in full */
                    userId?: string | undefined;
                    /** @description Why they are steered, at most 500 characters; it stands in each delivery's history */
                    why?: string | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Taken: it goes on by itself */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkSteering"];
                };
            };
        };
    };
    countSteerable: {
        parameters: {
            query: {
                action: "retry" | "redeliver" | "cancel";
                /** @description One of the destinations that it goes to */
                destinationId?: string | undefined;
                /** @description Name of the event, exact and in full */
                event?: string | undefined;
                /** @description Message id of the event, exact and in full */
                messageId?: string | undefined;
                /** @description Started at or after this time */
                since?: string | undefined;
                /** @description Source that the event came from */
                sourceId?: string | undefined;
                /** @description Where it stands; beside `destinationId`, where it stands at that destination */
                status?: ("queued" | "delivering" | "retrying" | "held" | "delivered" | "partly_delivered" | "failed" | "discarded" | "cancelled") | undefined;
                /** @description Type of the call, or `delete` */
                type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                /** @description Started before this time */
                until?: string | undefined;
                /** @description User of the event, exact and in full */
                userId?: string | undefined;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Steerable"];
                };
            };
        };
    };
    countSteerableOf: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /**
                     * @description What is to be done to them
                     * @enum {string}
                     */
                    action: "retry" | "redeliver" | "cancel";
                    /** @description Their ids, 1 to 200 */
                    ids: string[];
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Steerable"];
                };
            };
        };
    };
    listDestinations: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Destination"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createDestination: {
        parameters: {
            query?: {
                uniqueName?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDestination"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Made, as it is now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Destination"];
                };
            };
        };
    };
    getDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Destination"];
                };
            };
        };
    };
    deleteDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    updateDestination: {
        parameters: {
            query?: {
                uniqueName?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DestinationPatch"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Destination"];
                };
            };
        };
    };
    rehearseDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Filter that is tried; the saved one unless given, `null`: none */
                    filter?: (components["schemas"]["FilterInput"] | null) | undefined;
                    /**
                     * @description Newest events of its sources that it is tried on, 1 to 100; 50 unless given
                     * @default 50
                     */
                    limit?: number | undefined;
                    /** @description Mapping that is tried; the saved one unless given, `null`: none */
                    mapping?: (components["schemas"]["MappingInput"] | null) | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rehearsal"];
                };
            };
        };
    };
    answerRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                requestId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Status that the endpoint answers with, 200 to 599 */
                    status: number;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    fetchRequests: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Names who fetches, 1 to 100 characters: one at a time fetches those of a destination */
                    listener: string;
                    /**
                     * @description How long the answer waits for a request, 0 to 20 seconds; 20 unless given
                     * @default 20
                     */
                    waitSeconds?: number | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Oldest first, at most 50; none came where it is empty */
                        requests: {
                            /** @description Its body */
                            body: string;
                            /** @description Its headers, with the signature */
                            headers: {
                                [key: string]: string;
                            };
                            /** @description Names the request in the answer to it */
                            id: string;
                            /**
                             * @description Method of the request
                             * @enum {string}
                             */
                            method: "POST" | "PUT" | "PATCH";
                        }[];
                    };
                };
            };
        };
    };
    leaveRequests: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Names who fetches, 1 to 100 characters: one at a time fetches those of a destination */
                    listener: string;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    testDestination: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Type of the sample; `track` unless given
                     * @enum {string}
                     */
                    type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                } | null;
            };
        } | undefined;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointTest"];
                };
            };
        };
    };
    testDraft: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Whose secret signs unless the draft has one, and whose entries keep their headers */
                    destinationId?: string | undefined;
                    /** @description The endpoints, and the secret, as they are typed */
                    settings: {
                        /** @description Secret that signs, 1 to 1,024 characters; not signed unless given */
                        sharedSecret?: (string | null) | undefined;
                        /** @description Endpoints that are tried, 1 to 5 */
                        webhooks: {
                            /**
                             * @description Whether its requests have the event as JSON or as the fields of a form; `json` where it is absent
                             * @enum {string}
                             */
                            contentType?: ("json" | "form") | undefined;
                            /** @description Static headers of each request, at most 50, each value at most 4,096 characters; absent: as before */
                            headers?: {
                                [key: string]: string;
                            } | undefined;
                            /** @description The endpoint that is meant; absent: that of the same URL, or a new one */
                            id?: string | undefined;
                            /** @description Attempts that each node makes at a time at most, 1 to 128; `null`: as many as it proves to take */
                            maxConcurrent?: (number | null) | undefined;
                            /** @description Requests a second that each node sends it at most, 1 to 1,000, spread evenly; `null`: no bound */
                            maxPerSecond?: (number | null) | undefined;
                            /**
                             * @description Method of the request; `POST` where it is absent
                             * @enum {string}
                             */
                            method?: ("POST" | "PUT" | "PATCH") | undefined;
                            /** @description Pauses between attempts there; `null`: as at its destination */
                            retryPauses?: (components["schemas"]["RetryPausesInput"] | null) | undefined;
                            /** @description For how long after its first attempt an event is retried there, 1 to 72 hours; `null`: as at its destination */
                            retryWindowHours?: (number | null) | undefined;
                            /** @description Statuses beside 2xx by which it takes an event: 300 to 499, or ranges as in `"400-404"`; at most 20 */
                            successStatuses?: (number | string)[] | undefined;
                            /** @description How long it has for the head of its answer, 1 to 30 seconds; 5 where it is absent */
                            timeoutSeconds?: number | undefined;
                            /** @description Where requests go: http or https, at most 2,048 characters, without user name and password */
                            url: string;
                        }[];
                    };
                    /**
                     * @description Type of the sample; `track` unless given
                     * @enum {string}
                     */
                    type?: ("track" | "page" | "screen" | "identify" | "group" | "alias" | "delete") | undefined;
                };
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndpointTest"];
                };
            };
        };
    };
    getOnboarding: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Onboarding"];
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: {
                /** @description Of this destination alone */
                destinationId?: string | undefined;
                /** @description Beginning of the range; a day before its end unless given */
                since?: string | undefined;
                /** @description Of this source alone */
                sourceId?: string | undefined;
                /** @description End of the range; now unless given */
                until?: string | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    listSources: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Source"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createSource: {
        parameters: {
            query?: {
                uniqueName?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSource"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Made, as it is now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
        };
    };
    getSource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
        };
    };
    deleteSource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    updateSource: {
        parameters: {
            query?: {
                uniqueName?: ("true" | "false") | undefined;
            } | undefined;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SourcePatch"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
        };
    };
    watchSource: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    deletePreviousSourceKeys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
        };
    };
    rotateSourceKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description How long the replaced key still counts, in seconds. At 0, the default, it ends at once, and so do those replaced before */
                    overlapSeconds?: number | undefined;
                } | null;
            };
        } | undefined;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Source"];
                };
            };
        };
    };
    getStatus: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
        };
    };
    liftSuppressions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LiftSuppressions"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiftedSuppressions"];
                };
            };
        };
    };
    listTokens: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                limit?: number | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ApiToken"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewApiToken"];
            };
        };
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Made, as it is now */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedApiToken"];
                };
            };
        };
    };
    deleteToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {boolean} */
                        success: true;
                    };
                };
            };
        };
    };
    listTurnedAway: {
        parameters: {
            query?: {
                cursor?: string | undefined;
                /** @description They came to a source of this destination */
                destinationId?: string | undefined;
                /** @description What became of them */
                fate?: ("rejected" | "filtered" | "no_destination" | "suppressed" | "dropped") | undefined;
                limit?: number | undefined;
                /** @description Message id in full; its first 255 characters are compared */
                messageId?: string | undefined;
                /** @description Code of the error that refused them, or `filtered_by_rules`; exact */
                reason?: string | undefined;
                /** @description Came in at or after this time */
                since?: string | undefined;
                /** @description Source that they came to */
                sourceId?: string | undefined;
                /** @description Came in before this time */
                until?: string | undefined;
                /** @description User id in full; its first 255 characters are compared */
                userId?: string | undefined;
            } | undefined;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["TurnedAwayEvent"][];
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getTurnedAway: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: code, message and the member at fault */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Failed, or a part is away: code and message */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Done, or what was asked for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TurnedAwayDetail"];
                };
            };
        };
    };
}
