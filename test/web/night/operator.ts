/** What an operator does in the browser. */

import type { Page } from 'playwright-core'
import type { Target } from './account.ts'

/** Opens a page of the app as its links do, without loading the app anew. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    history.pushState({}, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)
}

export const deliveryPath = (id: string): string => `/deliveries/${encodeURIComponent(id)}`

/** Opens a delivery and steers it. */
export async function steer(page: Page, id: string, action: 'Retry now' | 'Cancel' | 'Redeliver'): Promise<void> {
  await visit(page, deliveryPath(id))
  await page.getByRole('button', { name: `${action} …` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: action === 'Cancel' ? 'Cancel the delivery' : action, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

async function openDestination(page: Page, { id, name }: Target): Promise<void> {
  await visit(page, `/destinations/${id}`)
  await page.getByRole('heading', { name, level: 1 }).waitFor()
}

export async function pause(page: Page, target: Target): Promise<void> {
  await openDestination(page, target)
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
}

export async function resume(page: Page, target: Target): Promise<void> {
  await openDestination(page, target)
  await page.getByRole('button', { name: 'Resume', exact: true }).click()
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
}

/** @param waiting  how many deliveries the question has to name */
export async function switchOff(page: Page, target: Target, waiting: number): Promise<void> {
  await openDestination(page, target)
  await page.getByRole('switch', { name: 'On' }).press('Space')
  await page.getByRole('button', { name: `Switch off and discard ${waiting}` }).click()
  await page.getByRole('switch', { name: 'Off' }).waitFor()
}

/** Gives the destination's only endpoint another URL. */
export async function mend(page: Page, target: Target, url: string): Promise<void> {
  await openDestination(page, target)
  await page.getByRole('textbox', { name: 'URL' }).fill(url)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved.').waitFor()
}

/** @param waiting  how many the button has to name */
export async function retryWhatWaits(page: Page, target: Target, waiting: number): Promise<void> {
  await openDestination(page, target)
  const words = waiting === 1 ? '1 that waits' : `${waiting} that wait`
  await page.getByRole('button', { name: `Retry the ${words}` }).click()
  await page.getByText(`Retry ordered for ${waiting} of ${waiting}.`).waitFor()
}
