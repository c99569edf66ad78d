import type { App } from '../app.ts'
import type { Roles } from '../config.ts'

/** Where everything of a node is, once it is ready. */
export interface Ready {
  /** The only one that it has; absent where it has both. */
  role?: keyof Roles
  url: string
  /** Where events are sent. */
  ingestUrl: string
  /** Logs in with the token that Postrider made itself; null when one was configured: that is known, and is not shown. */
  loginUrl: string | null
  temporalUiUrl: string | null
  /** What the first event needs; null when there is no Quickstart receiver. */
  quickstart: { writeKey: string; receiverUrl: string; curl: string } | null
}

/** @param madeToken  whether Postrider made the admin token itself
 *  @param role  the only one that the node has; absent where it has both */
export const readyFacts = (
  { url, ingestUrl, adminToken, temporal, quickstart }: App,
  { madeToken, role }: { madeToken: boolean; role?: keyof Roles },
): Ready => ({
  ...(role !== undefined && { role }),
  url,
  ingestUrl,
  loginUrl: madeToken && role !== 'worker' ? `${url}/login#token=${adminToken}` : null,
  temporalUiUrl: temporal.uiUrl ?? null,
  quickstart:
    quickstart === undefined
      ? null
      : {
          writeKey: quickstart.writeKey,
          receiverUrl: quickstart.receiver.url,
          curl: [
            `curl ${ingestUrl}/v1/track -u ${quickstart.writeKey}: \\`,
            `  -H 'Content-Type: application/json' -d '{"userId":"u1","event":"Hello"}'`,
          ].join('\n'),
        },
})

/** The text that a node prints for people when it is ready, with what to do next. */
export const startUpText = ({ role, url, ingestUrl, loginUrl, temporalUiUrl, quickstart }: Ready): string =>
  [
    '',
    'Postrider is ready.',
    '',
    ...(role !== 'worker'
      ? [
          `  Web app      ${url}`,
          ...(ingestUrl === url ? [] : [`  Ingest API   ${ingestUrl}`]),
          `  Admin login  ${loginUrl ?? `${url}/login, with POSTRIDER_ADMIN_TOKEN`}`,
          `  Help         ${url}/help`,
          ...(role === undefined ? [] : ['  Deliveries   by other nodes, with the role worker']),
        ]
      : [`  Role         worker`, `  Health       ${url}/readyz, and figures at ${url}/metrics`]),
    ...(temporalUiUrl === null ? [] : [`  Temporal UI  ${temporalUiUrl}`]),
    '',
    ...(quickstart === null
      ? role === 'worker'
        ? []
        : [
            'What to do next, in the web app or by the command:',
            '',
            '  postrider sources create <name>',
            '  postrider destinations create <name> --source <name of the source> --url <your endpoint>',
            '  postrider send track --event Hello --user-id u1 --source <name of the source>',
            '',
          ]
      : [
          'Send your first event:',
          '',
          quickstart.curl.replace(/^/gm, '  '),
          '',
          `It arrives, signed, at the Quickstart receiver (${quickstart.receiverUrl}), which prints it here.`,
        ]),
    'Stop with Ctrl-C.',
    '',
  ].join('\n')
