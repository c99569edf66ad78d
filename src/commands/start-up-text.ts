import type { App } from '../app.ts'

/** Where everything of a node is, once it is ready. */
export interface Ready {
  url: string
  /** Where events are sent. */
  ingestUrl: string
  /** Logs in with the token that Postrider made itself; null when one was configured: that is known, and is not shown. */
  loginUrl: string | null
  temporalUiUrl: string | null
  /** What the first event needs; null when there is no Quickstart receiver. */
  quickstart: { writeKey: string; receiverUrl: string; curl: string } | null
}

/** @param madeToken  whether Postrider made the admin token itself */
export const readyFacts = (
  { url, ingestUrl, adminToken, temporal, quickstart }: App,
  { madeToken }: { madeToken: boolean },
): Ready => ({
  url,
  ingestUrl,
  loginUrl: madeToken ? `${url}/login#token=${adminToken}` : null,
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
export const startUpText = ({ url, ingestUrl, loginUrl, temporalUiUrl, quickstart }: Ready): string =>
  [
    '',
    'Postrider is ready.',
    '',
    `  Web app      ${url}`,
    ...(ingestUrl === url ? [] : [`  Ingest API   ${ingestUrl}`]),
    `  Admin login  ${loginUrl ?? `${url}/login, with POSTRIDER_ADMIN_TOKEN`}`,
    ...(temporalUiUrl === null ? [] : [`  Temporal UI  ${temporalUiUrl}`]),
    '',
    ...(quickstart === null
      ? []
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
