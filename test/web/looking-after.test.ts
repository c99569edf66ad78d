import { describeInBrowser, nodeAndBrowser } from './browser.ts'
import { alerts } from './suites/alerts.ts'
import { audiences } from './suites/audiences.ts'
import { finding } from './suites/finding.ts'
import { snippets } from './suites/snippets.ts'
import { sources } from './suites/sources.ts'
import { turnedAway } from './suites/turned-away.ts'

describeInBrowser('the web app', () => {
  const web = nodeAndBrowser()
  audiences(web)
  alerts(web)
  sources(web)
  snippets(web)
  turnedAway(web)
  finding(web)
})
