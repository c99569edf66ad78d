import { describeInBrowser, nodeAndBrowser } from './browser.ts'
import { audiences } from './suites/audiences.ts'
import { deliveries } from './suites/deliveries.ts'
import { overview } from './suites/overview.ts'
import { sources } from './suites/sources.ts'

describeInBrowser('the web app', () => {
  const web = nodeAndBrowser()
  audiences(web)
  sources(web)
  overview(web)
  deliveries(web)
})
