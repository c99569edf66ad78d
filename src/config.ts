/** Every setting of the server: read from the environment once, checked, and turned into one value. */

import ipaddr from 'ipaddr.js'
import ms from 'ms'
import { z } from 'zod'
import { StartError } from './errors.ts'
import { speakPlainly } from './schemas/plain-words.ts'
import { withSecretFiles } from './secret-files.ts'

/** A duration as `4h`, `90s` or `500ms`, in milliseconds. */
const duration = z.string().transform((text, context) => {
  const value = /^\d+(\.\d+)?\s*[a-z]+$/i.test(text) ? ms(text as ms.StringValue) : undefined
  if (value !== undefined && value > 0) return value
  context.addIssue({ code: 'custom', message: 'must be a duration such as 4h, 90s or 500ms' })
  return z.NEVER
})

const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)

const port = wholeNumber(0, 65_535)

const flag = z.enum(['0', '1'], 'must be 0 or 1').transform((value) => value === '1')

const httpUrl = z
  .string()
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http or https URL')

const originUrl = httpUrl.refine(
  (text) => !URL.canParse(text) || text.replace(/\/$/, '') === new URL(text).origin,
  'must be a protocol, a host and a port at most, as in https://events.example.com',
)

const networks = z.string().transform((text, context) => {
  const list = text.split(',').map((part) => part.trim())
  const cidrs = list.filter((part) => part !== '')
  const bad = cidrs.find((cidr) => !ipaddr.isValidCIDR(cidr))
  if (bad === undefined) return cidrs
  context.addIssue({ code: 'custom', message: `must be a comma-separated list of CIDRs; "${bad}" is none` })
  return z.NEVER
})

/** What an HTTP header carries as one word. */
const headerWord = /^[\x21-\x7e]+$/

export const AdminTokenSchema = z
  .string()
  .min(8, 'must have at least 8 characters')
  .regex(headerWord, 'must have only ASCII letters, digits and signs, and no blanks: an HTTP header carries it')

/** An address of PostgreSQL. `pg` takes the form without a host, too, as for a socket. No text repeats it: it may hold a password. */
const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
  .refine(
    isPostgresUrl,
    'cannot be read: a password with signs such as # / ? @ : % has them escaped, as %23 %2F %3F %40 %3A %25',
  )

function isPostgresUrl(text: string): boolean {
  // Without a host, as pg allows it.
  const withHost = text.replace('@/', '@host/')
  if (!URL.canParse(withHost)) return false
  const { username, password, pathname, search, hash } = new URL(withHost)
  // A `/`, `?` or `#` in a password ends the host before the `@`.
  return isDecodable(username) && isDecodable(password) && !`${pathname}${search}${hash}`.includes('@')
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** The shortest retention that a Temporal server accepts for a namespace of one cluster (`MinRetentionLocal`), in milliseconds. */
export const minRetentionMs = 3_600_000

/** One 256-bit key of the ring that encrypts secrets. */
export interface EncryptionKey {
  id: string
  key: Buffer
}

/** A key ring written as `id:base64,id:base64`, newest first. */
export const EncryptionKeysSchema = z.string().transform((text, context): EncryptionKey[] => {
  const keys = text.split(',').map((part) => {
    const [id = '', encoded = ''] = part.trim().split(':', 2)
    return { id, key: Buffer.from(encoded, 'base64') }
  })
  const ids = new Set(keys.map(({ id }) => id))
  if (keys.every(({ id, key }) => /^[\w-]{1,32}$/.test(id) && key.length === 32) && ids.size === keys.length)
    return keys
  context.addIssue({
    code: 'custom',
    message: 'must be id:base64 pairs, each id once, each key 32 bytes, newest first',
  })
  return z.NEVER
})

/** What a node does: `api` takes events and shows the API and the web app, `worker` carries the deliveries. */
const roleNames = ['api', 'worker'] as const
export type Roles = Record<(typeof roleNames)[number], boolean>

const roles = z.string().transform((text, context): Roles => {
  const given = text.split(',').map((part) => part.trim())
  if (given.every((name) => roleNames.some((role) => role === name)))
    return { api: given.includes('api'), worker: given.includes('worker') }
  context.addIssue({ code: 'custom', message: 'must be api, worker or api,worker' })
  return z.NEVER
})

const EnvironmentSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port.prefault('8080'),
  POSTRIDER_ADMIN_PORT: port.optional(),
  POSTRIDER_INGEST_URL: originUrl.optional(),
  POSTRIDER_ROLES: roles.prefault('api,worker'),
  POSTRIDER_DATA_DIR: z.string().default('.postrider'),
  DATABASE_URL: postgresUrl.optional(),
  TEMPORAL_ADDRESS: z.string().optional(),
  TEMPORAL_CONFIG_FILE: z.string().optional(),
  TEMPORAL_PROFILE: z.string().optional(),
  POSTRIDER_TEMPORAL_PORT: port.prefault('7233'),
  POSTRIDER_TEMPORAL_UI_PORT: port.prefault('8233'),
  TEMPORAL_UI_URL: httpUrl.optional(),
  POSTRIDER_ADMIN_TOKEN: AdminTokenSchema.optional(),
  POSTRIDER_TRUSTED_PROXIES: networks.optional(),
  POSTRIDER_ALLOWED_NETWORKS: networks.optional(),
  POSTRIDER_RETRY_WINDOW: duration.prefault('4h'),
  POSTRIDER_RETRY_INITIAL: duration.prefault('10s'),
  POSTRIDER_RETRY_MAX: duration.prefault('15m'),
  POSTRIDER_ENCRYPTION_KEYS: EncryptionKeysSchema.optional(),
  POSTRIDER_INBOX_MAX: wholeNumber(1, 1_000_000_000).prefault('1000000'),
  POSTRIDER_PARCELS: z.enum(['auto', 'off'], 'must be auto or off').default('auto'),
  POSTRIDER_LENIENT_AUTH: flag.prefault('0'),
  POSTRIDER_RETENTION: duration.prefault('72h'),
  POSTRIDER_REQUEST_TIMEOUT: duration.prefault('30s'),
  POSTRIDER_MAX_CONNECTIONS: wholeNumber(1, 1_000_000).prefault('10000'),
  POSTRIDER_MAX_EVENTS_PER_SOURCE: wholeNumber(1, 1_000_000_000).optional(),
  POSTRIDER_MAX_REQUESTS_PER_ADDRESS: wholeNumber(1, 1_000_000_000).optional(),
  POSTRIDER_QUICKSTART_PORT: port.optional(),
  POSTRIDER_TEMPORAL_METRICS: z
    .string()
    .regex(/^(\[[\da-f:.]+\]|[\d.]+):\d{1,5}$/i, 'must be an address and a port, as in 127.0.0.1:9464')
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  LOG_FORMAT: z.enum(['json', 'pretty'], 'must be json or pretty').optional(),
})

/** Names of all settings, in the order of the documentation. */
export const settingNames = Object.keys(EnvironmentSchema.shape)

/** The checked settings of one process. Durations are in milliseconds. */
export interface Config {
  host: string
  port: number
  /** Port of everything but the ingest API; absent: the same. */
  adminPort: number | undefined
  /** Where sources send, as they reach it; absent: the host of the web app. */
  ingestUrl: string | undefined
  roles: Roles
  dataDir: string
  /** PostgreSQL; absent: PGlite in the data folder. */
  databaseUrl: string | undefined
  temporal: { kind: 'embedded'; port: number; uiPort: number } | { kind: 'external' }
  temporalUiUrl: string | undefined
  adminToken: string | undefined
  /** CIDRs of the proxies whose `X-Forwarded-*` headers count. */
  trustedProxies: string[]
  allowedNetworks: string[]
  retry: { windowMs: number; initialMs: number; maxMs: number }
  encryptionKeys: EncryptionKey[] | undefined
  inboxMax: number
  /** Whether events that would have to wait share workflows. */
  parcels: 'auto' | 'off'
  lenientAuth: boolean
  retentionMs: number
  /** How long a request may take to arrive; an upload: how long nothing of it may arrive. */
  requestTimeoutMs: number
  /** Connections at a time. */
  maxConnections: number
  /** Events a second that are taken of each source; absent: no bound. */
  maxEventsPerSource: number | undefined
  /** Requests a second to the ingest API that are taken of each address; absent: no bound. */
  maxRequestsPerAddress: number | undefined
  /** Port of the Quickstart receiver; 0: none; absent: a free one. */
  quickstartPort: number | undefined
  /** Address and port where the SDK of Temporal shows its own figures; absent: nowhere. */
  temporalMetricsAddress: string | undefined
  /** Where traces are sent; absent: there are none. */
  tracingEndpoint: string | undefined
  /** Headers of what is sent there, as `name=value` pairs with commas between them. */
  tracingHeaders: string | undefined
  logLevel: string
  /** Absent: lines for people in a terminal, JSON anywhere else. */
  logFormat: 'json' | 'pretty' | undefined
}

const loopbackNetworks = ['127.0.0.0/8', '::1/128']

/** The address of PostgreSQL alone, for commands that need no other setting; undefined where it is not set.
 *  @throws StartError in one line when it is wrong */
export function readDatabaseUrl(environment: NodeJS.ProcessEnv): string | undefined {
  const { DATABASE_URL } = withSecretFiles(environment, ['DATABASE_URL'])
  return DATABASE_URL
    ? parseSettings(EnvironmentSchema.pick({ DATABASE_URL: true }), { DATABASE_URL }).DATABASE_URL
    : undefined
}

/** Secrets that may stand in files of their own. */
const secretNames = [
  'DATABASE_URL',
  'POSTRIDER_ADMIN_TOKEN',
  'POSTRIDER_ENCRYPTION_KEYS',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const

function parseSettings<Settings>(schema: z.ZodType<Settings>, given: Record<string, string | undefined>): Settings {
  speakPlainly()
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new StartError(`${String(issue?.path[0])} ${issue?.message ?? 'is not valid'}`)
}

/** Reads the settings. An empty value counts as unset.
 *  @throws StartError that names the first setting at fault, in one line */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const read = withSecretFiles(environment, secretNames)
  const given = Object.fromEntries(Object.entries(read).filter(([, value]) => value !== ''))
  const env = parseSettings(EnvironmentSchema, given)
  const external = env.TEMPORAL_ADDRESS ?? env.TEMPORAL_CONFIG_FILE ?? env.TEMPORAL_PROFILE
  const embedded = external === undefined
  if (env.POSTRIDER_RETRY_MAX < env.POSTRIDER_RETRY_INITIAL)
    throw new StartError('POSTRIDER_RETRY_MAX must not be shorter than POSTRIDER_RETRY_INITIAL')
  if (embedded && env.POSTRIDER_RETENTION < minRetentionMs)
    throw new StartError('POSTRIDER_RETENTION must be at least 1h with the embedded Temporal')
  checkRoles(env.POSTRIDER_ROLES, { embedded, shared: env.DATABASE_URL !== undefined })
  if (!embedded && env.POSTRIDER_ROLES.api && env.POSTRIDER_ADMIN_TOKEN === undefined)
    throw new StartError('POSTRIDER_ADMIN_TOKEN must be set when Temporal is not the embedded one')
  if (!embedded && env.POSTRIDER_ENCRYPTION_KEYS === undefined)
    throw new StartError('POSTRIDER_ENCRYPTION_KEYS must be set when Temporal is not the embedded one')
  return {
    host: env.HOST,
    port: env.PORT,
    adminPort: env.POSTRIDER_ADMIN_PORT,
    ingestUrl: env.POSTRIDER_INGEST_URL && new URL(env.POSTRIDER_INGEST_URL).origin,
    roles: env.POSTRIDER_ROLES,
    dataDir: env.POSTRIDER_DATA_DIR,
    databaseUrl: env.DATABASE_URL,
    temporal: embedded
      ? { kind: 'embedded', port: env.POSTRIDER_TEMPORAL_PORT, uiPort: env.POSTRIDER_TEMPORAL_UI_PORT }
      : { kind: 'external' },
    temporalUiUrl: env.TEMPORAL_UI_URL,
    adminToken: env.POSTRIDER_ADMIN_TOKEN,
    trustedProxies: env.POSTRIDER_TRUSTED_PROXIES ?? [],
    allowedNetworks: env.POSTRIDER_ALLOWED_NETWORKS ?? (embedded ? loopbackNetworks : []),
    retry: {
      windowMs: env.POSTRIDER_RETRY_WINDOW,
      initialMs: env.POSTRIDER_RETRY_INITIAL,
      maxMs: env.POSTRIDER_RETRY_MAX,
    },
    encryptionKeys: env.POSTRIDER_ENCRYPTION_KEYS,
    inboxMax: env.POSTRIDER_INBOX_MAX,
    parcels: env.POSTRIDER_PARCELS,
    lenientAuth: env.POSTRIDER_LENIENT_AUTH,
    retentionMs: env.POSTRIDER_RETENTION,
    requestTimeoutMs: env.POSTRIDER_REQUEST_TIMEOUT,
    maxConnections: env.POSTRIDER_MAX_CONNECTIONS,
    maxEventsPerSource: env.POSTRIDER_MAX_EVENTS_PER_SOURCE,
    maxRequestsPerAddress: env.POSTRIDER_MAX_REQUESTS_PER_ADDRESS,
    quickstartPort: env.POSTRIDER_QUICKSTART_PORT,
    temporalMetricsAddress: env.POSTRIDER_TEMPORAL_METRICS,
    tracingEndpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT,
    tracingHeaders: env.OTEL_EXPORTER_OTLP_HEADERS,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT,
  }
}

/** Roles on nodes of their own meet in a Temporal and a database that all of them reach. */
function checkRoles({ api, worker }: Roles, { embedded, shared }: { embedded: boolean; shared: boolean }): void {
  if (api && worker) return
  if (embedded)
    throw new StartError(
      'POSTRIDER_ROLES must be api,worker with the embedded Temporal: set TEMPORAL_ADDRESS to part the roles',
    )
  if (!shared)
    throw new StartError(
      'POSTRIDER_ROLES must be api,worker with the embedded database: set DATABASE_URL to part the roles',
    )
}
