/** What a rate of events takes, calculated from the cost of an event; docs/scaling.md explains it. */

/** Processor time of node and embedded server, in milliseconds. */
export const cost = {
  /** Of each event. */
  event: 0.49,
  /** Of each workflow, whether it carries one event or a hundred. */
  workflow: 17,
}

/** Share of all cores that delivers, where the same machine makes the load and receives it. */
export const deliveringShare = 0.75

/** Cost of a full Temporal server on PostgreSQL beside the embedded one: 81 and 54 events a second on the same machine. */
export const fullServerFactor = 81 / 54

/** How much of its cores an installation should use. */
const load = 0.7
/** Of the processor time the node takes one half, Temporal and its database the other. */
const nodeShare = 0.5

/** @param perWorkflow  events that share a workflow
 *  @returns processor time of an event, in milliseconds */
export const eventCostMs = (perWorkflow: number): number => cost.event + cost.workflow / perWorkflow

/** Events a second on a machine that also makes the load, everything embedded. */
export const rateOf = (cores: number, perWorkflow: number): number =>
  (cores * deliveringShare * 1_000) / eventCostMs(perWorkflow)

export interface Capacity {
  workflowsPerSecond: number
  nodeCores: number
  /** Of the Temporal server and its database. */
  temporalCores: number
}

/** What a rate takes at 70 % load, with a full Temporal server.
 *  @param rate  events a second */
export function capacityFor(rate: number, perWorkflow: number): Capacity {
  const busyCores = (rate * eventCostMs(perWorkflow) * fullServerFactor) / 1_000
  return {
    workflowsPerSecond: rate / perWorkflow,
    nodeCores: Math.ceil((busyCores * nodeShare) / load),
    temporalCores: Math.ceil((busyCores * (1 - nodeShare)) / load),
  }
}
