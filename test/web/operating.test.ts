import { describeInBrowser, nodeAndBrowser } from './browser.ts'
import { connection } from './suites/connection.ts'
import { deliveries } from './suites/deliveries.ts'
import { errors } from './suites/errors.ts'
import { health } from './suites/health.ts'
import { overview } from './suites/overview.ts'

describeInBrowser('the web app', () => {
  const web = nodeAndBrowser()
  overview(web)
  health(web)
  deliveries(web)
  connection(web)
  errors(web)
})
