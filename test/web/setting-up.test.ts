import { describeInBrowser, nodeAndBrowser } from './browser.ts'
import { byKeyboard } from './suites/by-keyboard.ts'
import { connecting } from './suites/connect.ts'
import { edits } from './suites/edits.ts'
import { endpointOptions } from './suites/endpoint-options.ts'
import { filters } from './suites/filters.ts'
import { manners } from './suites/manners.ts'
import { mappings } from './suites/mappings.ts'
import { signingIn } from './suites/sign-in.ts'
import { temporalUi } from './suites/temporal-ui.ts'

describeInBrowser('the web app', () => {
  const web = nodeAndBrowser()
  // First: it begins with an empty system.
  connecting(web)
  filters(web)
  mappings(web)
  endpointOptions(web)
  signingIn(web)
  temporalUi(web)
  edits(web)
  manners(web)
  byKeyboard(web)
})
