/** What the SDK logs for each workflow that ends as failed. */
export const workflowFailed = 'Workflow failed'
