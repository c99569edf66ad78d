/** The keyboard alone, as somebody without a mouse uses the app. */

import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

/** Presses of Tab after which it has been everywhere on a page. */
const maxTabs = 150

/** Goes on with Tab until the element has the focus, which can be seen wherever it is on the way. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor()
  for (let tabs = 0; tabs < maxTabs; tabs++) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
    expect(await unseenFocus(page)).toBeNull()
  }
  throw new Error(`Tab does not lead to ${target.toString()}`)
}

export async function pressAt(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target)
  await page.keyboard.press(key)
}

/** What has the focus without showing it; null where it is seen, or where the browser's own parts have it. */
const unseenFocus = (page: Page): Promise<string | null> =>
  page.evaluate(async () => {
    // Where it is to be seen, it is from the next frame on.
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    const element = document.activeElement
    if (element === null || element === document.body) return null
    const { top, bottom, left, right } = element.getBoundingClientRect()
    const isInside = bottom > 0 && right > 0 && top < window.innerHeight && left < window.innerWidth
    // Fields show it by their border.
    const isField = element.matches('input, textarea, select, [role=combobox], .mantine-Input-input')
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    const isMarked = isField || (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0)
    const isVisible = element.matches(':focus-visible')
    if (isInside && isMarked && isVisible) return null
    return JSON.stringify({ html: element.outerHTML.slice(0, 300), isInside, isMarked, isVisible, top, left, scrollY })
  })
