/** Alerts: what operators are told of, where, and what was told. */

import { z } from 'zod'
import { NameSchema } from './source.ts'

/** What an alert is about. */
export const alertKinds = [
  'endpoint_failing',
  'endpoint_failing_often',
  'endpoint_down',
  'destination_held',
  'inbox_old',
  'sync_failed',
  'sync_refused',
  'audience_resized',
  'key_ending',
] as const
const AlertKindSchema = z.enum(alertKinds)

/** Most channels, and most recipients of one. */
export const maxAlertChannels = 20
const maxRecipients = 10

const maxUrlLength = 2_048
const maxSecretLength = 1_024
const maxAddressLength = 320

/** Longest threshold of a rule, in seconds: a day. */
export const maxAfterSeconds = 24 * 3600

/** Longest time before the end of a key, in seconds: 30 days, as keys overlap no longer. */
export const maxBeforeEndSeconds = 30 * 24 * 3600

/** Longest mute, in seconds: 30 days. */
export const maxMuteSeconds = 30 * 24 * 3600

/** Longest time over which a share of attempts is taken, in minutes. */
export const maxShareMinutes = 60

/** Largest change of an audience that a rule can have, in percent: it may grow to many times its size. */
export const maxResizedPercent = 1_000

const urlOf = (...protocols: string[]) =>
  z
    .string()
    .max(maxUrlLength)
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be a full URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
    )

const address = z
  .string()
  .max(maxAddressLength)
  .regex(/^[^\s@<>,;"]+@[^\s@<>,;"]+$/, 'must be an e-mail address')

const secret = z.string().min(1).max(maxSecretLength)
const appUrl = urlOf('http:', 'https:')

const webhook = z.strictObject({
  kind: z.literal('webhook').describe('A signed `POST` of JSON'),
  url: urlOf('http:', 'https:').describe('Where it goes: http or https, at most 2,048 characters'),
  sharedSecret: secret.optional().describe('Signs, as the secret of a destination'),
})

const slack = z.strictObject({
  kind: z.literal('slack').describe('A message through an incoming webhook of Slack'),
  url: urlOf('http:', 'https:').describe('The incoming webhook, as Slack shows it'),
})

const email = z.strictObject({
  kind: z.literal('email').describe('E-mail by SMTP'),
  smtpUrl: urlOf('smtp:', 'smtps:').describe('Server, as in `smtp://user:password@mail.example.com:587`'),
  from: address.describe('Address of the sender'),
  to: z.array(address).min(1).max(maxRecipients).describe('Addresses that get it, 1 to 10'),
})

/** Where alerts go, and how. URLs may hold secrets: they are never shown again. */
export const AlertChannelSettingsSchema = z.discriminatedUnion('kind', [webhook, slack, email])
export type AlertChannelSettings = z.infer<typeof AlertChannelSettingsSchema>

/** A channel to be made. */
export const NewAlertChannelSchema = z.strictObject({
  name: NameSchema.describe('Name for people, 1 to 200 characters'),
  settings: AlertChannelSettingsSchema.describe('Where alerts go, and how'),
  appUrl: appUrl.optional().describe('Where this app is, for the links; none unless given'),
})
export type NewAlertChannel = z.infer<typeof NewAlertChannelSchema>

/** A change of a channel: what it names; the rest stays. Settings of another kind must be whole. */
export const AlertChannelPatchSchema = z.strictObject({
  name: NameSchema.optional().describe('Another name, 1 to 200 characters'),
  settings: z
    .discriminatedUnion('kind', [
      webhook.partial({ url: true }).extend({
        sharedSecret: secret.nullish().describe('Signs from now on; null: not signed any more'),
      }),
      slack.partial({ url: true }),
      email.partial({ smtpUrl: true, from: true, to: true }),
    ])
    .optional()
    .describe('What is other than before; members that are left out stay where the kind does'),
  appUrl: appUrl.nullish().describe('Where this app is, for the links; null: none any more'),
})
export type AlertChannelPatch = z.infer<typeof AlertChannelPatchSchema>

/** Settings of a channel without what is secret. */
const AlertChannelViewSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('webhook').describe('A signed `POST` of JSON'),
    hasSharedSecret: z.boolean().describe('Whether requests are signed'),
  }),
  z.object({ kind: z.literal('slack').describe('A message through an incoming webhook of Slack') }),
  z.object({
    kind: z.literal('email').describe('E-mail by SMTP'),
    from: z.string().describe('Address of the sender'),
    to: z.array(z.string()).describe('Addresses that get it'),
  }),
])
export type AlertChannelView = z.infer<typeof AlertChannelViewSchema>

/** A channel without what is secret. */
export const AlertChannelSchema = z.object({
  id: z.string().describe('Id of the channel'),
  name: z.string().describe('Name for people'),
  kind: z.enum(['webhook', 'slack', 'email']).describe('How alerts go there'),
  target: z.string().describe('Host of the URL, or the recipients'),
  settings: AlertChannelViewSchema.nullable().describe(
    'Settings without what is secret; null where the key ring has no key for them',
  ),
  appUrl: z.string().nullable().describe('Where its links lead; null: none'),
  lastToldAt: z.iso.datetime().nullable().describe('When it took an alert last, ISO 8601; null before the first'),
  lastError: z.string().nullable().describe('Why the latest try failed; null where it did not'),
  createdAt: z.iso.datetime().describe('When it was made, ISO 8601'),
})
export type AlertChannel = z.infer<typeof AlertChannelSchema>

/** What came of a test of a channel. */
export const AlertChannelTestSchema = z.object({
  outcome: z.enum(['told', 'failed']).describe('Whether the channel took the test alert'),
  error: z.string().optional().describe('Why it did not'),
})
export type AlertChannelTest = z.infer<typeof AlertChannelTestSchema>

const afterSeconds = z.int().min(1).max(maxAfterSeconds).nullable()

/** When there is an alert, as a whole. */
export const AlertRulesSchema = z.strictObject({
  endpointFailingAfterSeconds: afterSeconds.describe(
    'All attempts at an endpoint fail for so long, 1 to 86,400 s; null: no alert',
  ),
  endpointFailedPercent: z
    .int()
    .min(1)
    .max(100)
    .nullable()
    .describe('So many percent of at least 20 attempts at an endpoint fail, 1 to 100; null: no alert'),
  endpointFailedMinutes: z
    .int()
    .min(1)
    .max(maxShareMinutes)
    .describe('The newest minutes whose attempts `endpointFailedPercent` counts, 1 to 60'),
  endpointDown: z.boolean().describe('An endpoint is down: only probes are sent to it'),
  destinationHeld: z.boolean().describe('A destination is held because it fails'),
  inboxOlderThanSeconds: afterSeconds.describe(
    'An event waits in the inbox for so long, 1 to 86,400 s; null: no alert',
  ),
  syncFailed: z.boolean().describe('A sync of an audience failed, or was refused'),
  audienceResizedPercent: z
    .int()
    .min(1)
    .max(maxResizedPercent)
    .nullable()
    .describe('A sync changed the size of an audience by more than so many percent, 1 to 1,000; null: no alert'),
  keyEndingWithinSeconds: z
    .int()
    .min(1)
    .max(maxBeforeEndSeconds)
    .nullable()
    .describe('A replaced write key or signing secret ends within so long, 1 to 2,592,000 s (30 days); null: no alert'),
})
export type AlertRules = z.infer<typeof AlertRulesSchema>

/** An alert: open, or over. */
export const AlertSchema = z.object({
  id: z.string().describe('Id of the alert'),
  kind: AlertKindSchema.describe('What it is about'),
  subject: z.string().describe('Id of the endpoint, destination, audience or source; `inbox`'),
  name: z.string().describe('The subject for people'),
  reason: z.string().describe('What was seen when it began'),
  path: z.string().describe('The page of the app that shows more'),
  openedAt: z.iso.datetime().describe('When it began, ISO 8601'),
  closedAt: z.iso.datetime().nullable().describe('When it was over, ISO 8601; null while it is open'),
  closedReason: z
    .string()
    .nullable()
    .describe('Why it is over without being mended, as `its destination was paused`; null: it was mended, or is open'),
  mutedUntil: z.iso
    .datetime()
    .nullable()
    .describe('Nothing is told of its subject until then, ISO 8601; null: not muted'),
})
export type Alert = z.infer<typeof AlertSchema>

/** What would be open now with other rules. */
export const AlertPreviewSchema = z.object({
  items: z
    .array(AlertSchema.pick({ kind: true, subject: true, name: true, reason: true, path: true }))
    .describe('At most 100 of them'),
})
export type AlertPreview = z.infer<typeof AlertPreviewSchema>

/** For how long nothing is told. */
export const MuteAlertSchema = z.strictObject({
  seconds: z.int().min(0).max(maxMuteSeconds).describe('0 to 2,592,000 s (30 days); 0 ends a mute'),
})
