/** A night: endpoints fail, hang, move and recover, node and Temporal are killed, and each page is held against what
 *  receivers got. */

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { launchChromium } from '../../support/chromium.ts'
import { until } from '../../support/wait.ts'
import { openPage } from '../browser.ts'
import { openHouse } from '../night/house.ts'
import { deliveryPath, mend, pause, resume, retryWhatWaits, steer, switchOff, visit } from '../night/operator.ts'
import { openReceivers } from '../night/receivers.ts'
import { setScene } from '../night/scene.ts'

/** Retries come by themselves; no delivery ends because its time is over. */
const quickRetries = { POSTRIDER_RETRY_INITIAL: '4s', POSTRIDER_RETRY_MAX: '15s', POSTRIDER_RETRY_WINDOW: '4h' }

/** Only the operator brings a retry within the night. */
const slowRetries = { POSTRIDER_RETRY_INITIAL: '1h', POSTRIDER_RETRY_MAX: '1h' }

/** A delivery that fails is given up soon. */
const shortWindow = { POSTRIDER_RETRY_INITIAL: '1s', POSTRIDER_RETRY_MAX: '2s', POSTRIDER_RETRY_WINDOW: '15s' }

export const night = () =>
  describe('a night of an operator', () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await launchChromium()
    })
    afterAll(() => browser.close())

    it('is shown as receivers saw it', { timeout: 900_000 }, async () => {
      const receivers = openReceivers()
      onTestFinished(() => receivers[Symbol.asyncDispose]())
      const house = await openHouse(quickRetries)
      const scene = setScene(house.node(), receivers)
      const { account, track, idOf } = scene
      const [crm, crmMoved, mailer, spare, counter] = [
        await receivers.endpoint('/crm'),
        await receivers.endpoint('/moved'),
        await receivers.endpoint('/mail'),
        await receivers.endpoint('/spare'),
        await receivers.endpoint('/count'),
      ]
      const shop = await scene.source('Shop')
      const blog = await scene.source('Blog')
      const sales = await scene.target('Sales', [shop], [crm])
      const mail = await scene.target('Mail', [shop, blog], [mailer, spare])
      const ticks = await scene.source('Ticks')
      await scene.target('Counts', [blog, ticks], [counter])
      const { page } = await openPage(browser, { signedInTo: house.node().url })
      await page.setViewportSize({ width: 1600, height: 1000 })
      await page.goto(house.node().url)
      const compare = () => scene.compareChanged(page)

      // Evening: all is well, but for one call that is no event.
      await track(shop, 's1', 's2')
      await track(blog, 'b1')
      await scene.trackNonsense(blog)
      await compare()

      // Sales fail in a way that may pass, Counts for good, and one of the two endpoints of Mail, where one is enough.
      crm.answer(503)
      counter.answer(404)
      spare.answer(500)
      await track(shop, 's3', 's4', 's5')
      await track(blog, 'b2')
      await compare()

      // The operator tries by hand, in vain, and cancels one.
      const before = crm.receiver.requests.length
      await steer(page, idOf('s3'), 'Retry now')
      await crm.receiver.received(before + 1)
      await steer(page, idOf('s4'), 'Cancel')
      account.cancelled('s4')
      await page.getByText('Cancelled', { exact: true }).first().waitFor()
      expect(await page.getByRole('main').getByText('Next attempt').count()).toBe(0)
      await compare()

      // Sales are back, and get by themselves what waited.
      crm.answer(200)
      await until('Sales have what waited', () => account.count('Retrying') === 0)
      await scene.compareAll(page)

      // Counts fail and then hang, and the node is killed in the middle of a request, when all before it is written down.
      spare.answer(200)
      counter.answer(503)
      await track(ticks, 't1')
      await compare()
      await visit(page, '/deliveries')
      counter.answer('hang')
      await until('Counts hang', () => receivers.got.some((one) => one.isUnderWay()))
      receivers.loseWhatIsUnderWay()
      await house.killNode()
      await page.getByRole('status', { name: 'Postrider does not answer' }).waitFor()
      counter.answer(200)
      await house.startNode(slowRetries)
      await page.getByRole('status', { name: 'Postrider does not answer' }).waitFor({ state: 'detached' })
      await compare()

      // Sales move: the operator mends the URL, and retries what waits.
      crm.answer(503)
      const gone = crm.receiver.requests.length
      await track(shop, 's6', 's7')
      await crm.receiver.received(gone + 2)
      await compare()
      await mend(page, sales, crmMoved.url)
      sales.endpoints[0]?.places.push(crmMoved)
      await retryWhatWaits(page, sales, 2)
      await crmMoved.receiver.received(2)
      await scene.compareAll(page)

      // Temporal is killed while events come.
      await house.killTemporal()
      await track(shop, 's8', 's9')
      await track(blog, 'b4')
      await compare()

      // Mail is paused for a while, with events that wait.
      await pause(page, mail)
      mail.isPaused = true
      await track(shop, 's10')
      await track(blog, 'b5')
      await compare()
      await resume(page, mail)
      mail.isPaused = false
      await compare()

      // Sales fail again, and are switched off with what waits; what Counts had refused is sent again.
      crmMoved.answer(503)
      const moved = crmMoved.receiver.requests.length
      await track(shop, 's11')
      await crmMoved.receiver.received(moved + 1)
      await compare()
      await switchOff(page, sales, 1)
      account.switchedOff(sales)
      account.redelivered('b2')
      await steer(page, idOf('b2'), 'Redeliver')
      await scene.compareAll(page)

      // The node is killed when all is written down, and comes back with a short time for retries, in which Counts stay away.
      await house.killNode()
      await house.startNode(shortWindow)
      await page.getByRole('status', { name: 'Postrider does not answer' }).waitFor({ state: 'detached' })
      counter.answer(503)
      await track(ticks, 't2')
      await visit(page, deliveryPath(idOf('t2')))
      await page.getByRole('main').getByText('Failed', { exact: true }).first().waitFor()
      account.overdue('t2')
      expect(receivers.got.filter(({ messageId }) => messageId === 't2').length).toBeGreaterThan(2)
      await scene.compareAll(page)
    })
  })
