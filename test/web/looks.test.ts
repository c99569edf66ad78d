import { describeInBrowser, nodeAndBrowser } from './browser.ts'
import { dialogs } from './suites/dialogs.ts'
import { fullLists } from './suites/full-lists.ts'
import { everyPage } from './suites/pages.ts'

describeInBrowser('the web app', () => {
  const web = nodeAndBrowser()
  everyPage(web)
  dialogs(web)
  fullLists(web)
})
