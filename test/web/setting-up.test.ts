import { describeInBrowser, nodeAndBrowser } from './browser.ts'
import { connecting } from './suites/connect.ts'
import { edits } from './suites/edits.ts'
import { manners } from './suites/manners.ts'
import { everyPage } from './suites/pages.ts'
import { signingIn } from './suites/sign-in.ts'

describeInBrowser('the web app', () => {
  const web = nodeAndBrowser()
  // First: it begins with an empty system.
  connecting(web)
  everyPage(web)
  signingIn(web)
  edits(web)
  manners(web)
})
