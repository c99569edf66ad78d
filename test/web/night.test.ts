import { describeInBrowser } from './browser.ts'
import { night } from './suites/night.ts'

describeInBrowser('the web app', () => {
  night()
})
