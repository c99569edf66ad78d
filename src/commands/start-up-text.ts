import type { App } from '../app.ts'

/** What a node says when it is ready: where everything is, and what to do next.
 *  @param madeToken  whether Postrider made the admin token itself: one that was configured is known, and is not shown */
export function startUpText(
  { url, adminToken, temporalUiUrl, quickstart }: App,
  { madeToken }: { madeToken: boolean },
): string {
  const lines = [
    '',
    'Postrider is ready.',
    '',
    `  Web app      ${url}`,
    madeToken
      ? `  Admin login  ${url}/login#token=${adminToken}`
      : `  Admin login  ${url}/login, with POSTRIDER_ADMIN_TOKEN`,
    ...(temporalUiUrl === undefined ? [] : [`  Temporal UI  ${temporalUiUrl}`]),
    '',
  ]
  if (quickstart === undefined) return [...lines, 'Stop with Ctrl-C.', ''].join('\n')
  return [
    ...lines,
    'Send your first event:',
    '',
    `  curl ${url}/v1/track -u ${quickstart.writeKey}: \\`,
    `    -H 'Content-Type: application/json' -d '{"userId":"u1","event":"Hello"}'`,
    '',
    `It arrives, signed, at the Quickstart receiver (http://127.0.0.1:${quickstart.receiver.port}), which prints it here.`,
    'Stop with Ctrl-C.',
    '',
  ].join('\n')
}
