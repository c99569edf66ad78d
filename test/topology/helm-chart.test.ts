/** The chart in `deploy/helm`, rendered by Helm itself: what it renders is what Kubernetes takes and Postrider knows. */

import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readConfig, settingNames } from '../../src/config.ts'
import { packageVersion } from '../../src/package-version.ts'
import { findFreePorts } from '../../src/ports.ts'
import { commandInTest } from '../support/built-command.ts'
import { linesThatBegin } from '../support/page-lines.ts'
import { spawnTethered } from '../support/tethered-process.ts'
import { until } from '../support/wait.ts'
import { faultsOf, type Manifest } from './kubernetes-faults.ts'

const chart = resolve(import.meta.dirname, '../../deploy/helm')
const run = promisify(execFile)

interface Probe {
  httpGet: { path: string; port: string }
}
interface Container {
  env: { name: string; value: string }[]
  image: string
  securityContext: unknown
  ports: { name: string; containerPort: number }[]
  startupProbe: Probe
  livenessProbe: Probe
  readinessProbe: Probe
}
interface Deployment extends Manifest {
  spec: {
    selector: { matchLabels: Record<string, string> }
    template: {
      metadata: { labels: Record<string, string> }
      spec: { containers: [Container]; terminationGracePeriodSeconds: number; volumes: unknown[] }
    }
  }
}

/** @param values  a file of `ci/`, and single values as `--set` takes them */
async function render(values: string, ...set: string[]): Promise<Manifest[]> {
  const settings = set.flatMap((one) => ['--set', one])
  const args = ['template', 'shop', chart, '--kube-version', '1.32', '--values', join(chart, 'ci', values), ...settings]
  const { stdout } = await run(inject('helm'), args, { maxBuffer: 8_000_000 })
  return manifestsOf(stdout)
}

const manifestsOf = (rendered: string): Manifest[] =>
  parseAllDocuments(rendered)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)

const ofKind = <Kind extends Manifest>(manifests: readonly Manifest[], kind: string): Kind[] =>
  manifests.filter((manifest): manifest is Kind => manifest.kind === kind)
const isPartOf = (part: Record<string, string>, whole: Record<string, string>): boolean =>
  Object.entries(part).every(([name, value]) => whole[name] === value)

describe('the chart', () => {
  const rendered = new Map<string, Manifest[]>()
  let scratch: string

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'postrider-chart-'))
    for (const file of await readdir(join(chart, 'ci'))) rendered.set(file, await render(file))
  })
  afterAll(() => rm(scratch, { recursive: true }))

  it('passes its own lint with each set of values', async () => {
    for (const file of rendered.keys())
      await run(inject('helm'), ['lint', '--strict', chart, '--values', join(chart, 'ci', file)])
    expect([...rendered.keys()].sort()).toEqual(['cloud.yaml', 'everything.yaml', 'least.yaml'])
  })

  it('renders what the schemas of Kubernetes and of the Prometheus operator take', async () => {
    expect(await faultsOf([...rendered.values()].flat())).toEqual([])
  })

  it('would be told where a member is unknown, missing, or of a wrong type', async () => {
    const [deployment] = ofKind<Deployment>(rendered.get('least.yaml') ?? [], 'Deployment')
    const { containers, ...pod } = deployment?.spec.template.spec ?? {}
    const broken = (spec: object): Manifest =>
      ({ ...deployment, spec: { ...deployment?.spec, template: { spec } } }) as unknown as Manifest
    const faults = await faultsOf([
      broken({ containers, ...pod, terminationGraceSeconds: 1 }),
      broken(pod),
      broken({ containers, ...pod, terminationGracePeriodSeconds: 'soon' }),
    ])
    expect(faults.join('\n')).toMatch(/^0-.*terminationGraceSeconds/m)
    expect(faults.join('\n')).toMatch(/^1-.*containers/m)
    expect(faults.join('\n')).toMatch(/^2-.*'string' is not assignable to type 'number'/m)
  })

  it('is packaged with the alerts and the dashboard of deploy/, not with copies of its own', async () => {
    await run(inject('helm'), ['package', chart, '--destination', scratch])
    const file = join(scratch, `postrider-${packageVersion()}.tgz`)
    const { stdout } = await run('tar', ['-xzOf', file, 'postrider/files/prometheus/alerts.yml'])
    const alerts = await readFile(resolve(chart, '../prometheus/alerts.yml'), 'utf8')
    expect(stdout).toBe(alerts)
    const [rule] = ofKind<Manifest & { spec: unknown }>(rendered.get('everything.yaml') ?? [], 'PrometheusRule')
    expect(rule?.spec).toEqual(parse(alerts))
  })

  it('is what the pages install, with the secret that they make', async () => {
    const [install = '', ...others] = linesThatBegin('helm')
    const [secret = '', ...more] = linesThatBegin('kubectl')
    expect([others, more]).toEqual([[], []])
    const root = resolve(chart, '../..')
    // As it would install it.
    const line = `${install.replace(/^helm install/, `'${inject('helm')}' template`)} --kube-version 1.32`
    const { stdout } = await run('sh', ['-c', line], { cwd: root, maxBuffer: 8_000_000 })
    const manifests = manifestsOf(stdout)
    expect(await faultsOf(manifests)).toEqual([])
    const deployments = ofKind<Deployment>(manifests, 'Deployment')
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['postrider-api', 'postrider-worker'])

    const words = await run('sh', ['-c', secret.replace(/^kubectl/, 'printf "%s\\n"')])
    const [create, kind, type, name, ...literals] = words.stdout.trimEnd().split('\n')
    expect([create, kind, type]).toEqual(['create', 'secret', 'generic'])
    const keys = literals.map((one) => /^--from-literal=([a-z-]+)=(.+)$/.exec(one)?.slice(1) ?? [one])
    for (const { spec } of deployments) {
      const text = JSON.stringify(spec.template.spec.volumes)
      expect([...text.matchAll(/"secret":\{[^}]*"name":"([^"]+)"/g)].map(([, named]) => named)).toContain(name)
      for (const [key] of keys) expect(text).toContain(`"key":"${key}"`)
    }
    const values = Object.fromEntries(keys) as Record<string, string>
    expect(
      readConfig({
        DATABASE_URL: values['database-url'],
        POSTRIDER_ADMIN_TOKEN: values['admin-token'],
        POSTRIDER_ENCRYPTION_KEYS: values['encryption-keys'],
        TEMPORAL_ADDRESS: 'temporal:7233',
      }),
    ).toMatchObject({ encryptionKeys: [{ id: 'k1' }] })
  })

  it('tells who installed it of things that are there', async () => {
    // Only an installation shows the notes; here they are a template like others.
    const copy = join(scratch, 'chart')
    await run('cp', ['-rL', chart, copy])
    const notes = await readFile(join(copy, 'templates/NOTES.txt'), 'utf8')
    await writeFile(join(copy, 'templates/notes.yaml'), `notes: |\n${notes.replace(/^/gm, '  ')}`)
    const values = join(chart, 'ci/everything.yaml')
    const show = ['--values', values, '--namespace', 'shops', '--show-only', 'templates/notes.yaml']
    const { stdout } = await run(inject('helm'), ['template', 'shop', copy, '--kube-version', '1.32', ...show])
    const text = (parse(stdout) as { notes: string }).notes
    const named = [...text.matchAll(/kubectl --namespace shops .*?\b(deployment|service)\/(\S+)(?: 8080:(\d+))?/g)]
    const manifests = rendered.get('everything.yaml') ?? []
    const ports = ({ spec }: { spec: { ports?: { port: number }[] } }) =>
      spec.ports?.map(({ port }) => String(port)) ?? []
    expect(
      named.map(([, kind, name, port]) => {
        const thing = manifests.find((one) => one.kind.toLowerCase() === kind && one.metadata.name === name)
        return thing !== undefined && (port === undefined || ports(thing as never).includes(port))
      }),
    ).toEqual([true, true])
  })

  it('is of the version of the package', async () => {
    const { version, appVersion } = parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>
    expect([version, appVersion]).toEqual([packageVersion(), packageVersion()])
  })

  it('gives nodes settings that they know, and secrets as files alone', () => {
    for (const [values, manifests] of rendered)
      for (const { spec } of ofKind<Deployment>(manifests, 'Deployment')) {
        const environment = Object.fromEntries(
          spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]),
        )
        const known = [...settingNames, 'POSTRIDER_ROLES', 'NODE_EXTRA_CA_CERTS']
        const unknown = Object.keys(environment).filter((name) => !known.includes(name.replace(/_FILE$/, '')))
        expect([values, ...unknown.filter((name) => !name.startsWith('TEMPORAL_'))]).toEqual([values])
        // What stands in the files, which are not here.
        const given = Object.entries(environment).filter(([name]) => !name.endsWith('_FILE'))
        const secrets = {
          DATABASE_URL: 'postgres://database/postrider',
          POSTRIDER_ADMIN_TOKEN: 'an-admin-token',
          POSTRIDER_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
        }
        for (const name of Object.keys(secrets))
          expect(environment[`${name}_FILE`]).toMatch(/^\/run\/secrets\/postrider\//)
        expect(readConfig({ ...Object.fromEntries(given), ...secrets })).toMatchObject({ port: 8080, adminPort: 8081 })
      }
  })

  it('has a Deployment for each role, which its services, budgets and rules for scaling mean', () => {
    const manifests = rendered.get('everything.yaml') ?? []
    const deployments = ofKind<Deployment>(manifests, 'Deployment')
    const roleOf = ({ spec }: Deployment): string | undefined =>
      spec.template.spec.containers[0].env.find(({ name }) => name === 'POSTRIDER_ROLES')?.value
    expect(deployments.map(roleOf)).toEqual(['api', 'worker'])
    const matched = (selector: Record<string, string>): (string | undefined)[] =>
      deployments.filter(({ spec }) => isPartOf(selector, spec.template.metadata.labels)).map(roleOf)

    for (const deployment of deployments)
      expect(matched(deployment.spec.selector.matchLabels)).toEqual([roleOf(deployment)])
    const services = ofKind<Manifest & { spec: { selector: Record<string, string> } }>(manifests, 'Service')
    expect(services.map(({ metadata, spec }) => [metadata.name, ...matched(spec.selector)])).toEqual([
      ['shop-postrider', 'api'],
      ['shop-postrider-admin', 'api'],
      ['shop-postrider-worker', 'worker'],
    ])
    const budgets = ofKind<Manifest & { spec: { selector: { matchLabels: Record<string, string> } } }>(
      manifests,
      'PodDisruptionBudget',
    )
    expect(budgets.flatMap(({ spec }) => matched(spec.selector.matchLabels))).toEqual(['api', 'worker'])
    const scalers = ofKind<Manifest & { spec: { scaleTargetRef: { name: string }; metrics: { type: string }[] } }>(
      manifests,
      'HorizontalPodAutoscaler',
    )
    expect(scalers.map(({ spec }) => spec.scaleTargetRef.name)).toEqual(
      deployments.map(({ metadata }) => metadata.name),
    )
    expect(scalers.map(({ spec }) => spec.metrics.map(({ type }) => type))).toEqual([
      ['Resource'],
      ['Resource', 'External'],
    ])
  })

  it.each(['api', 'worker'])('asks a node that is %s on ports at which it answers', async (role) => {
    const deployments = ofKind<Deployment>(rendered.get('least.yaml') ?? [], 'Deployment')
    const of = deployments.find(({ metadata }) => metadata.name === `shop-postrider-${role}`)
    const [container] = of?.spec.template.spec.containers ?? []
    if (container === undefined) throw new Error('there is no such Deployment')
    const folder = await mkdtemp(join(scratch, 'node-'))
    // Health answers without them: nothing listens there.
    const secrets = {
      databaseUrl: 'postgres://postrider@127.0.0.1:1/postrider',
      adminToken: 'an-admin-token',
      encryptionKeys: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
    }
    for (const [name, text] of Object.entries(secrets)) await writeFile(join(folder, name), text)
    const { ports, env } = container
    const free = await findFreePorts('127.0.0.1', ports.length)
    const portOf = new Map(ports.map(({ containerPort }, index) => [String(containerPort), String(free[index])]))
    const environment = env.map(({ name, value }): [string, string] => [
      name,
      portOf.get(value) ?? value.replace('/run/secrets/postrider', folder),
    ])
    const here = { HOST: '127.0.0.1', TEMPORAL_ADDRESS: '127.0.0.1:1', POSTRIDER_DATA_DIR: join(folder, 'data') }
    const logFile = join(folder, 'log')
    const node = await spawnTethered(process.execPath, [...commandInTest, 'start'], {
      logFile,
      env: { PATH: process.env['PATH'], HOME: folder, ...Object.fromEntries(environment), ...here },
    })
    const ask = async (probe: 'startupProbe' | 'livenessProbe' | 'readinessProbe'): Promise<number | undefined> => {
      const { path, port } = container[probe].httpGet
      const { containerPort } = ports.find(({ name }) => name === port) ?? {}
      const url = `http://127.0.0.1:${portOf.get(String(containerPort)) ?? 'none'}${path}`
      return fetch(url).then(
        ({ status }) => status,
        () => undefined,
      )
    }
    try {
      await until('it starts', async () => {
        if (!node.isRunning()) throw new Error(await readFile(logFile, 'utf8'))
        return (await ask('startupProbe')) === 200
      })
      expect([await ask('livenessProbe'), await ask('readinessProbe')]).toEqual([200, 503])
    } finally {
      await node.stop()
    }
  })

  it('lets a node stop in its own time, without rights that it does not need', async () => {
    const start = await readFile(resolve(chart, '../../src/commands/start.ts'), 'utf8')
    const stopLimitSeconds = Number(/stopLimitMs = ([\d_]+)/.exec(start)?.[1]?.replaceAll('_', '')) / 1_000
    expect(stopLimitSeconds).toBeGreaterThan(0)
    for (const { spec } of ofKind<Deployment>([...rendered.values()].flat(), 'Deployment')) {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec
      expect(terminationGracePeriodSeconds).toBeGreaterThan(stopLimitSeconds + 5)
      expect(spec.template.spec).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true },
      })
      expect(containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  it('offers the ingest API alone on the host for events', () => {
    interface Ingress extends Manifest {
      spec: { rules: { host: string; http: { paths: { path: string; backend: unknown }[] } }[] }
    }
    const ofValues = (values: string): unknown[] =>
      ofKind<Ingress>(rendered.get(values) ?? [], 'Ingress').flatMap(({ spec }) =>
        spec.rules.flatMap(({ host, http }) => http.paths.map(({ path, backend }) => [host, path, backend])),
      )
    const to = (name: string, port: string): object => ({ service: { name, port: { name: port } } })
    const events = ['/v1', '/client.js', '/client.tgz'].map((path) => [
      'events.example.com',
      path,
      to('shop-postrider', 'http'),
    ])
    expect(ofValues('cloud.yaml')).toEqual(events)
    expect(ofValues('everything.yaml')).toEqual([
      ...events,
      ['postrider.example.com', '/', to('shop-postrider-admin', 'admin')],
    ])
    expect(ofValues('least.yaml')).toEqual([])
    const ingestUrlOf = (values: string): string | undefined =>
      ofKind<Deployment>(rendered.get(values) ?? [], 'Deployment')[0]?.spec.template.spec.containers[0].env.find(
        ({ name }) => name === 'POSTRIDER_INGEST_URL',
      )?.value
    expect(['cloud.yaml', 'everything.yaml', 'least.yaml'].map(ingestUrlOf)).toEqual([
      'http://events.example.com',
      'https://events.example.com',
      undefined,
    ])
  })

  it.each([
    ['temporal.address=', /temporal.address is required/],
    ['temporal.address=temporal', /address/],
    ['worker.inbox=3', /inbox/],
    ['settings.POSTRIDER_ADMIN_TOKEN=secret', /POSTRIDER_ADMIN_TOKEN/],
    ['settings.POSTRIDER_INBOX_MAX=5000000', /settings.*POSTRIDER_INBOX_MAX/],
    ['settings.DATABASE_URL_FILE=/tmp/url', /DATABASE_URL_FILE/],
    ['secrets.databaseUrl.name=', /databaseUrl/],
  ])('refuses %s and says what is wrong', async (value, message) => {
    await expect(render('least.yaml', value)).rejects.toThrow(message)
  })
})
