/** Where deliveries stand that have not ended: those that have started, and those with what waits in the inbox. */
export const startedStatuses = ['delivering', 'retrying', 'held'] as const
export const openStatuses = ['queued', ...startedStatuses] as const

/** Whether a delivery goes on that stands so, as a whole or at one of its destinations. */
export const isOpenStatus = (status: string): boolean => (openStatuses as readonly string[]).includes(status)
