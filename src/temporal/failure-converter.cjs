/** How failures are written for Temporal: message and stack trace in a payload, which is encrypted as all payloads are. The SDK
 *  requires this module by its path, in workers and in the bundle of the workflows: a CommonJS one. */

// eslint-disable-next-line @typescript-eslint/no-require-imports -- see above
const { DefaultFailureConverter } = require('@temporalio/common')

exports.failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true })
