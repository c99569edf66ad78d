/** How long Temporal's lists may take to show a workflow that has started, in milliseconds; the embedded server has them
 *  within 200. Who acts on all that match waits so long first. */
export const visibilityLagMs = 500
