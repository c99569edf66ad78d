/** Keeps the worker's everyday messages out of the test output. */

import { DefaultLogger, Runtime } from '@temporalio/worker'

Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] })
