import { proxyActivities } from '@temporalio/workflow'

interface Activities {
  post(url: string, body: string): Promise<number>
}

const { post } = proxyActivities<Activities>({ startToCloseTimeout: '10 seconds' })

/** One regular activity that posts the bytes. */
export async function postOnce(url: string, body: string): Promise<number> {
  return post(url, body)
}

/** The cheapest workflow that there is. */
export async function doNothing(): Promise<void> {}
