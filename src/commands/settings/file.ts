/** Settings as a file: `docs/command.md`, "Settings as a file". Things are known by their names, secrets by the
 *  environment variables that hold them. */

import { stringify } from 'yaml'
import { z } from 'zod'
import { AlertRulesSchema } from '../../schemas/alert.ts'
import { AudienceKindSchema, AudienceScheduleSchema, memberFormats } from '../../schemas/audience.ts'
import { OnFailingSchema, OrderPerUserSchema, SuccessPolicySchema } from '../../schemas/destination.ts'
import { DifferingOptionsSchema } from '../../schemas/endpoint-options.ts'
import { FilterSchema } from '../../schemas/filter.ts'
import { memberOf, speakPlainly } from '../../schemas/plain-words.ts'
import { MappingSchema } from '../../schemas/mapping.ts'
import { RetryPausesSchema } from '../../schemas/retry-options.ts'
import { NameSchema } from '../../schemas/source.ts'
import { usageError } from '../shared/failure.ts'
import { parseYaml } from '../shared/input.ts'

export const SecretReferenceSchema = z.strictObject({
  env: z.string().regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable'),
})
export type SecretReference = z.infer<typeof SecretReferenceSchema>

const HeadersSchema = z.record(z.string(), z.union([z.string(), SecretReferenceSchema]))
export type HeaderEntries = z.infer<typeof HeadersSchema>

const SourceEntrySchema = z.strictObject({ name: NameSchema, enabled: z.boolean().optional() })
export type SourceEntry = z.infer<typeof SourceEntrySchema>

const WebhookEntrySchema = z.strictObject({
  url: z.string(),
  headers: HeadersSchema.optional(),
  ...DifferingOptionsSchema.shape,
})
export type WebhookEntry = z.infer<typeof WebhookEntrySchema>

const DestinationEntrySchema = z.strictObject({
  name: NameSchema,
  enabled: z.boolean().optional(),
  paused: z.boolean().optional(),
  successPolicy: SuccessPolicySchema.optional(),
  onFailing: OnFailingSchema.optional(),
  holdAfterSeconds: z.int().optional(),
  /** `null`: as the node is set up. */
  retryWindowHours: z.int().nullish(),
  /** Likewise. */
  retryPauses: RetryPausesSchema.nullish(),
  /** `null`: events go side by side. */
  orderPerUser: OrderPerUserSchema.nullish(),
  /** Names. */
  sources: z.array(z.string()).optional(),
  /** `null`: all of their events. */
  filter: FilterSchema.nullish(),
  mapping: MappingSchema.nullish(),
  /** `null`: requests are not signed. */
  sharedSecret: SecretReferenceSchema.nullish(),
  webhooks: z.array(WebhookEntrySchema).optional(),
})
export type DestinationEntry = z.infer<typeof DestinationEntrySchema>

const MembershipEntrySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('push') }),
  z.strictObject({
    kind: z.literal('http'),
    url: z.string(),
    format: z.enum(memberFormats).optional(),
    headers: HeadersSchema.optional(),
  }),
  z.strictObject({
    kind: z.literal('sql'),
    connectionString: SecretReferenceSchema,
    query: z.string(),
    statementTimeoutSeconds: z.int().optional(),
  }),
])
export type MembershipEntry = z.infer<typeof MembershipEntrySchema>

const AudienceEntrySchema = z.strictObject({
  name: NameSchema,
  key: z.string().optional(),
  kind: AudienceKindSchema.optional(),
  /** Names. */
  destinations: z.array(z.string()).optional(),
  membership: MembershipEntrySchema.optional(),
  schedule: AudienceScheduleSchema.nullish(),
  paused: z.boolean().optional(),
  maxBadRowShare: z.number().optional(),
  maxRemovalShare: z.number().optional(),
  maxPerSecond: z.int().nullish(),
})
export type AudienceEntry = z.infer<typeof AudienceEntrySchema>

/** When there is an alert; what is left out stays. */
const AlertRulesEntrySchema = AlertRulesSchema.partial()

const alertChannel = { name: NameSchema, appUrl: z.string().nullish() }

const AlertChannelEntrySchema = z.discriminatedUnion('kind', [
  z.strictObject({
    ...alertChannel,
    kind: z.literal('webhook'),
    url: SecretReferenceSchema,
    /** `null`: requests are not signed. */
    sharedSecret: SecretReferenceSchema.nullish(),
  }),
  z.strictObject({ ...alertChannel, kind: z.literal('slack'), url: SecretReferenceSchema }),
  z.strictObject({
    ...alertChannel,
    kind: z.literal('email'),
    smtpUrl: SecretReferenceSchema,
    from: z.string(),
    to: z.array(z.string()),
  }),
])
export type AlertChannelEntry = z.infer<typeof AlertChannelEntrySchema>

const namedOnce = <Entry extends z.ZodType<{ name: string }>>(entry: Entry) =>
  z
    .array(entry)
    .refine((entries) => new Set(entries.map(({ name }) => name)).size === entries.length, 'must have each name once')

const SettingsFileSchema = z.strictObject({
  version: z.literal(1),
  sources: namedOnce(SourceEntrySchema).default([]),
  destinations: namedOnce(DestinationEntrySchema).default([]),
  audiences: namedOnce(AudienceEntrySchema).default([]),
  alertRules: AlertRulesEntrySchema.optional(),
  /** Files of 0.1.0 say nothing of channels. */
  alertChannels: namedOnce(AlertChannelEntrySchema).optional(),
})
export type SettingsFile = z.infer<typeof SettingsFileSchema>

/** Reads YAML or JSON.
 *  @throws CommandError (usage) that names what is wrong, and where */
export function readSettingsFile(text: string): SettingsFile {
  speakPlainly()
  const parsed = SettingsFileSchema.safeParse(parseYaml(text, 'the file'))
  if (!parsed.success) throw usageError(`the file does not fit:\n${parsed.error.issues.map(faultLine).join('\n')}`)
  return parsed.data
}

/** Where a fault is, and what. */
const faultLine = (issue: z.core.$ZodIssue): string => `  ${memberOf(issue) || 'the file'}: ${issue.message}`

export const toYaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
