/** Everything that a namespace of Temporal has of its workflows, as it came over the wire. */

import { Connection, type WorkflowService } from '@temporalio/client'
import { temporalAddress } from './temporal.ts'

export interface HeldWorkflow {
  type: string
  /** Answers of Temporal: the row of a list, the description, all pages of the history. */
  answers: object[]
}

/** Reads all workflows of a namespace. */
export async function whatTemporalHolds(namespace: string): Promise<HeldWorkflow[]> {
  const connection = await Connection.connect({ address: temporalAddress() })
  try {
    const { workflowService } = connection
    const { executions } = await workflowService.listWorkflowExecutions({ namespace, pageSize: 1_000 })
    return await Promise.all(
      executions.map(async (row) => ({
        type: row.type?.name ?? '',
        answers: [
          row,
          await workflowService.describeWorkflowExecution({ namespace, execution: row.execution ?? null }),
          ...(await historyPages(workflowService, namespace, row.execution ?? {})),
        ],
      })),
    )
  } finally {
    await connection.close()
  }
}

async function historyPages(service: WorkflowService, namespace: string, execution: object): Promise<object[]> {
  const pages: object[] = []
  let nextPageToken = new Uint8Array()
  do {
    const page = await service.getWorkflowExecutionHistory({ namespace, execution, nextPageToken })
    pages.push(...(page.history?.events ?? []))
    nextPageToken = Uint8Array.from(page.nextPageToken)
  } while (nextPageToken.length > 0)
  return pages
}

/** All texts and bytes in an answer, as one text. */
export function textsIn(answer: unknown): string {
  if (typeof answer === 'string') return answer
  if (ArrayBuffer.isView(answer)) return Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength).toString()
  if (typeof answer !== 'object' || answer === null) return ''
  return Object.entries(answer)
    .flatMap(([name, member]) => [name, textsIn(member)])
    .join('\n')
}
