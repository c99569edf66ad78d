/** docker-compose.yml and Dockerfile against the facts of the code; no container engine is needed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfig, settingNames } from '../src/config.ts'

const root = resolve(import.meta.dirname, '..')
/** One instruction a line. */
const dockerfile = readFileSync(resolve(root, 'Dockerfile'), 'utf8').replaceAll(/\\\n\s*/g, '')

const ServiceSchema = z.object({
  image: z.string(),
  environment: z.record(z.string(), z.union([z.string(), z.number()]).nullable()).default({}),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.unknown().optional(),
  restart: z.string().optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  entrypoint: z.array(z.string()).optional(),
})
const compose = z
  .object({ services: z.record(z.string(), ServiceSchema), volumes: z.record(z.string(), z.unknown()) })
  .parse(parse(readFileSync(resolve(root, 'docker-compose.yml'), 'utf8')))
const services = Object.entries(compose.services)

const secrets = {
  POSTGRES_PASSWORD: 'a1b2c3',
  POSTRIDER_ADMIN_TOKEN: 'an-admin-token',
  POSTRIDER_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
}

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
  it('gives Postrider settings that it knows and accepts', () => {
    const environment = environmentOf('postrider', secrets)
    const unknown = Object.keys(environment).filter(
      (name) => !settingNames.includes(name) && name !== 'TEMPORAL_NAMESPACE',
    )
    expect(unknown).toEqual([])
    expect(readConfig({ ...imageEnvironment, ...environment })).toMatchObject({
      host: '0.0.0.0',
      port: 8080,
      dataDir: '/data',
      databaseUrl: 'postgres://postrider:a1b2c3@postgres:5432/postrider',
      temporal: { kind: 'external' },
      adminToken: secrets.POSTRIDER_ADMIN_TOKEN,
      allowedNetworks: [],
    })
  })

  it('passes on the optional settings that the operator gives', () => {
    const given = { POSTRIDER_RETRY_WINDOW: '1h', POSTRIDER_ALLOWED_NETWORKS: '10.0.0.0/8', LOG_LEVEL: 'warn' }
    expect(readConfig(environmentOf('postrider', { ...secrets, ...given }))).toMatchObject({
      retry: { windowMs: 3_600_000 },
      allowedNetworks: ['10.0.0.0/8'],
      logLevel: 'warn',
    })
  })

  it.each(Object.keys(secrets))('refuses to start without %s and says how to make one', (name) => {
    const startAll = (): unknown => services.map(([service]) => environmentOf(service, { ...secrets, [name]: '' }))
    expect(startAll).toThrow(/set it.*openssl rand/)
  })

  it.each(services)('%s waits only for what can become so', (_, { depends_on }) => {
    for (const [name, { condition }] of Object.entries(depends_on)) {
      const dependency = compose.services[name]
      expect(dependency, name).toBeDefined()
      if (condition === 'service_healthy') expect(dependency?.healthcheck, name).toBeDefined()
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

  it.each(services)('%s has a fixed version and is published to this machine only', (name, { image, ports }) => {
    if (name !== 'postrider') expect(image).toMatch(/:\d+/)
    for (const port of ports) expect(interpolate(port, {})).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
  })
})

describe('Dockerfile', () => {
  it('runs the start command of package.json, not as root, and exposes the port that it listens on', () => {
    const { scripts } = z
      .object({ scripts: z.object({ start: z.string() }) })
      .parse(JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')))
    const [, command = '[]'] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? []
    expect((JSON.parse(command) as string[]).join(' ')).toBe(scripts.start)
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
