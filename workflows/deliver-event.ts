/** The story of one event: every destination on its own, until each is settled. */

import {
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  Trigger,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow'
import type {
  HeldEventInput,
  DeliverEventResult,
  DestinationResult,
  DestinationStanding,
} from '../src/contracts/delivery.ts'
import { failureTypes } from '../src/contracts/delivery.ts'
import { leaveLine, readPendingAttempts } from './activities.ts'
import { deliverToDestination, type DeliveryContext, type DestinationDelivery } from './deliver-to-destination.ts'
import type { Runs } from './endpoint-attempts.ts'
import { createEndReport, createGivenUpReport } from './end-report.ts'
import { createMeeting } from './meeting.ts'
import { createTurns } from './one-at-a-time.ts'
import { createOutcomeReport, writeOutcome } from './outcome-attribute.ts'
import { createResultsReport } from './results-attribute.ts'
import { listenForSteering } from './steering.ts'
import { traceEnd } from './tracing.ts'

/** Carries one event to its destinations.
 *  @throws ApplicationFailure DeliveryFailed with the reason per endpoint, and the whole result in its details, when a
 *  destination could not be reached for good */
export async function deliverEvent(given: HeldEventInput): Promise<DeliverEventResult> {
  const input = { ...given, acceptedAt: given.acceptedAt ?? workflowInfo().startTime.toISOString() }
  const { atRest, onResting } = createRest(() => deliveries)
  const noteResult = createResultsReport(input)
  const reportEnd = createEndReport(input)
  const onEnded = (ended: DestinationResult): void => {
    reportEnd(ended)
    noteResult(ended.destinationId, ended.outcome)
    outcomes.end(ended.destinationId)
  }
  const runs: Runs = new Set()
  const outcomes = createOutcomeReport(input, noteResult)
  const firstsOver = createMeeting(input.targets.length)
  const inTurn = createTurns()
  const context = {
    input,
    steering: listenForSteering(),
    inTurn,
    outcomes,
    noteResult,
    firstsOver,
    onResting,
    onGivenUp: createGivenUpReport(),
    onEnded,
    runs,
  }
  const resumed = new Map(input.resumed?.map((standing) => [destinationOf(standing), standing]))
  const deliveries = input.targets.map((target) =>
    deliverToDestination(context, target, resumed.get(target.destinationId)),
  )
  const { cancelRequested } = CancellationScope.current()
  const results = Promise.all(deliveries.map(({ result }) => result))
  const destinations = await Promise.race([results, atRest.then(goOn), cancelRequested]).catch((error: unknown) =>
    endCancelled(context, error),
  )
  return conclude(input, destinations)

  /** A delivery that only waits, and has become long by many pauses, goes on in a new run. */
  function goOn(resumed: DestinationStanding[]): Promise<never> {
    return continueAsNew<typeof deliverEvent>({ ...input, resumed })
  }
}

/** Tells when all destinations only wait, in a delivery that has become long. */
function createRest(deliveries: () => DestinationDelivery[]) {
  const atRest = new Trigger<DestinationStanding[]>()
  let isAwaited = false
  const standings = (): DestinationStanding[] => deliveries().flatMap((delivery) => delivery.standing() ?? [])
  const onResting = (): void => {
    if (isAwaited || !workflowInfo().continueAsNewSuggested) return
    isAwaited = true
    condition(() => standings().length === deliveries().length).then(
      () => atRest.resolve(standings()),
      () => undefined,
    )
  }
  return { atRest, onResting }
}

/** Writes what the delivery has come to where lists and traces read it.
 *  @throws ApplicationFailure DeliveryFailed when a destination could not be reached for good */
function conclude(input: HeldEventInput, destinations: DestinationResult[]): DeliverEventResult {
  const outcome = overallOutcome(destinations)
  traceEnd(input, outcome)
  const result = { outcome, destinations }
  noteUnlessPlain(result)
  if (outcome === 'partly_delivered') writeOutcome(outcome)
  if (destinations.some((destination) => destination.outcome === 'failed'))
    throw ApplicationFailure.create({
      type: failureTypes.deliveryFailed,
      message: failureMessage(destinations),
      nonRetryable: true,
      category: 'BENIGN',
      details: [result],
    })
  if (outcome === 'discarded') writeOutcome('discarded')
  return result
}

/** What the activities have made is told before the end: nothing has it afterwards. */
async function endCancelled(
  { input, runs, inTurn }: Pick<DeliveryContext, 'input' | 'runs' | 'inTurn'>,
  error: unknown,
): Promise<never> {
  if (isCancellation(error) && runs.size > 0 && patched('tells-attempts-of-cancelled')) {
    await readPendingAttempts(inTurn)
    await Promise.all(runs)
  }
  if (isCancellation(error)) {
    for (const { ticket } of input.targets) if (ticket !== undefined) await leaveLine(inTurn, ticket)
    traceEnd(input, 'cancelled')
  }
  throw error
}

const destinationOf = (standing: DestinationStanding): string =>
  standing.kind === 'held' ? standing.destinationId : standing.result.destinationId

/** Writes attempts and reason into the memo, where lists read them; a first round that succeeded needs none. */
function noteUnlessPlain({ outcome, destinations }: DeliverEventResult): void {
  const endpoints = destinations.flatMap((destination) => destination.endpoints)
  if (outcome === 'delivered' && endpoints.every(({ attempts }) => attempts === 1)) return
  const attempts = endpoints.reduce((sum, endpoint) => sum + endpoint.attempts, 0)
  const givenUp = destinations.filter((one) => one.outcome !== 'delivered')
  const decisive = givenUp.find((one) => one.outcome === 'failed') ?? givenUp[0]
  const reason = decisive?.endpoints.find((endpoint) => endpoint.outcome === decisive.outcome)?.reason
  upsertMemo({ attempts, ...(reason !== undefined && { reason }) })
}

/** Deliveries that began before this was so are delivered, or have failed. */
const tellsPartly = 'partly-delivered'

function overallOutcome(destinations: DestinationResult[]): DeliverEventResult['outcome'] {
  const has = (outcome: DestinationResult['outcome']): boolean => destinations.some((one) => one.outcome === outcome)
  if (has('delivered') && (has('failed') || has('discarded')) && patched(tellsPartly)) return 'partly_delivered'
  if (has('failed')) return 'failed'
  return has('delivered') ? 'delivered' : 'discarded'
}

const failureMessage = (destinations: DestinationResult[]): string =>
  destinations
    .filter(({ outcome }) => outcome === 'failed')
    .flatMap(({ endpoints }) => endpoints.filter(({ outcome }) => outcome === 'failed'))
    .map(({ endpointId, reason }) => `${endpointId}: ${reason ?? 'failed'}`)
    .join('\n')
