/** The requests of published client libraries, rebuilt down to headers and envelope, and what must become of them. */

import { request } from 'undici'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { basic, startIngest, writeKey } from './ingest-server.ts'
import type { IngestServer } from './ingest-server.ts'

let server: IngestServer
beforeAll(async () => {
  server = await startIngest()
})
afterEach(() => server.port.clear())
afterAll(() => server.app.close())

const json = { 'content-type': 'application/json' }
const auth = { authorization: basic(writeKey) }
const utc = '2026-11-21T12:48:23.123Z'
const id = '0b6f4f3e-6f0e-4d0b-8f0a-5f3c1d2e4b6a'
const node = { library: { name: '@segment/analytics-node', version: '3.1.0' } }

interface Client {
  path: string
  headers: Record<string, string>
  gzip?: boolean
  body: unknown
  /** The delivered bodies, in part. */
  expected: object[]
}

const clients: Record<string, Client> = {
  'node-segment': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-node-next/latest', 'x-retry-count': '1' },
    body: {
      batch: [
        {
          type: 'page',
          userId: 'u1',
          name: 'Home',
          category: 'Docs',
          properties: { path: '/', category: 'Docs' },
          integrations: {},
          timestamp: utc,
          messageId: `node-next-1763729303123-${id}`,
          context: node,
          _metadata: { nodeVersion: '20' },
        },
      ],
      writeKey,
      sentAt: utc,
    },
    expected: [
      { type: 'page', name: 'Home', category: 'Docs', properties: { path: '/', category: 'Docs' }, context: node },
    ],
  },
  'node-legacy': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-node/6.2.0' },
    body: {
      batch: [
        {
          type: 'track',
          userId: 'u1',
          event: 'Buy',
          properties: { n: 1 },
          timestamp: utc,
          messageId: `node-0cc175b9c0f1b6a831c399e269772661-${id}`,
          _metadata: {},
          context: { library: { name: 'analytics-node' } },
        },
      ],
      timestamp: utc,
      sentAt: utc,
    },
    expected: [{ type: 'track', event: 'Buy', messageId: `node-0cc175b9c0f1b6a831c399e269772661-${id}` }],
  },
  'node-rudder': {
    path: '/v1/batch',
    headers: { ...auth, 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'analytics-node/3.0.13' },
    gzip: true,
    body: {
      batch: [
        {
          type: 'identify',
          userId: 'u1',
          channel: 'server',
          traits: { a: 1 },
          context: { traits: { a: 1 }, library: {} },
          originalTimestamp: utc,
          messageId: id,
          _metadata: {},
        },
      ],
      timestamp: utc,
      sentAt: null,
    },
    expected: [{ type: 'identify', traits: { a: 1 }, timestamp: utc }],
  },
  browser: {
    path: '/v1/t',
    headers: { ...auth, 'content-type': 'text/plain', 'user-agent': 'Mozilla/5.0', origin: 'https://shop.example' },
    body: {
      type: 'track',
      event: 'Buy',
      userId: null,
      anonymousId: 'anon',
      properties: {},
      integrations: {},
      writeKey,
      sentAt: null,
      timestamp: utc,
      messageId: `ajs-next-1763729303123-${id}`,
      context: { page: { path: '/' } },
      _metadata: { bundled: [] },
    },
    expected: [{ type: 'track', anonymousId: 'anon', context: { page: { path: '/' }, ip: '127.0.0.1' } }],
  },
  'browser-batching': {
    path: '/v1/b',
    headers: { ...auth, 'content-type': 'text/plain', 'user-agent': 'Mozilla/5.0', origin: 'https://shop.example' },
    body: {
      writeKey,
      sentAt: utc,
      batch: [
        {
          type: 'page',
          anonymousId: 'anon',
          userId: null,
          properties: { url: 'https://shop.example/' },
          writeKey,
          messageId: 'b1',
          timestamp: utc,
          context: {},
        },
      ],
    },
    expected: [{ type: 'page', anonymousId: 'anon', messageId: 'b1' }],
  },
  'py-segment': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-python/2.4.0' },
    gzip: true,
    body: {
      batch: [
        {
          type: 'group',
          groupId: 'g1',
          userId: 'u1',
          anonymousId: null,
          traits: { name: 'Acme' },
          integrations: {},
          timestamp: '2026-11-21T12:48:23.123+00:00',
          context: {},
          messageId: id,
        },
      ],
      sentAt: '2026-11-21T12:48:23.123456+00:00',
      writeKey,
    },
    expected: [{ type: 'group', groupId: 'g1', traits: { name: 'Acme' } }],
  },
  'py-legacy': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-python/2.2.2' },
    body: {
      batch: [
        {
          type: 'screen',
          name: 'Main',
          userId: 'u1',
          anonymousId: null,
          category: null,
          properties: {},
          messageId: id,
          context: {},
        },
      ],
      sentAt: utc,
    },
    expected: [{ type: 'screen', name: 'Main', properties: {} }],
  },
  'py-rudder': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-python/2.1.9' },
    gzip: true,
    body: {
      batch: [
        {
          type: 'identify',
          userId: 'u1',
          anonymousId: null,
          channel: 'server',
          context: { traits: { plan: 'pro' } },
          timestamp: '2026-11-21T12:48:23.123456+00:00',
          messageId: id,
        },
      ],
      sentAt: null,
    },
    expected: [{ type: 'identify', traits: { plan: 'pro' }, timestamp: utc }],
  },
  'go-v3': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-go (version: 3.0.0)' },
    body: {
      messageId: id,
      sentAt: '0001-01-01T00:00:00Z',
      batch: [
        {
          type: 'alias',
          userId: 'u1',
          previousId: 'p1',
          messageId: 'go1',
          timestamp: '2026-11-21T12:48:23.139228078+05:30',
        },
      ],
      context: { library: { name: 'analytics-go', version: '3.0.0' } },
    },
    expected: [
      {
        type: 'alias',
        'Previous ID': 'p1',
        'User ID': 'u1',
        userId: 'u1',
        context: { library: { name: 'analytics-go', version: '3.0.0' } },
      },
    ],
  },
  'go-v2': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-go (version: 2.0.0)' },
    body: {
      context: { library: { name: 'analytics-go', version: '2.0.0' } },
      batch: [
        {
          type: 'page',
          userId: 'u1',
          category: 'Docs',
          name: 'Home',
          traits: { url: '/' },
          messageId: 'go2',
          timestamp: '2026-11-21T12:48:23+0530',
        },
      ],
      messageId: id,
    },
    expected: [{ type: 'page', properties: { url: '/' }, timestamp: '2026-11-21T07:18:23.000Z' }],
  },
  'go-v2, closed with nothing left': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-go (version: 2.0.0)' },
    body: { context: {}, batch: null, messageId: id, sentAt: '2026-11-21T12:48:23+0530' },
    expected: [],
  },
  'go-rudder': {
    path: '/v1/batch',
    headers: { ...json, ...auth, 'user-agent': 'analytics-go (version: 4.2.0)' },
    gzip: true,
    body: {
      batch: [
        {
          type: 'track',
          event: 'Buy',
          userId: 'u1',
          anonymousId: 'random',
          channel: 'server',
          originalTimestamp: '2026-11-21T12:48:23.139228078+05:30',
          messageId: id,
        },
      ],
    },
    expected: [{ type: 'track', userId: 'u1', anonymousId: 'random', timestamp: '2026-11-21T07:18:23.139Z' }],
  },
  java: {
    path: '/v1/import/',
    headers: { 'content-type': 'application/json; charset=UTF-8', 'user-agent': 'analytics-java/3.5.4' },
    body: {
      batch: [{ type: 'identify', userId: 'u1', traits: { a: 1 }, integrations: {}, messageId: id, timestamp: utc }],
      sentAt: utc,
      context: { library: { name: 'analytics-java' }, instanceId: 'i1' },
      sequence: 1,
      writeKey,
    },
    expected: [
      { type: 'identify', traits: { a: 1 }, context: { library: { name: 'analytics-java' }, instanceId: 'i1' } },
    ],
  },
  rust: {
    path: '/v1/group',
    headers: { ...json, ...auth },
    body: { userId: 'u1', groupId: 'g1', traits: null },
    expected: [
      {
        type: 'group',
        groupId: 'g1',
        traits: {},
        messageId: expect.any(String) as string,
        timestamp: expect.stringMatching(/\.\d{3}Z$/) as string,
      },
    ],
  },
  'rust-batch': {
    path: '/v1/batch',
    headers: { ...json, ...auth },
    body: {
      batch: [
        { type: 'track', userId: 'u1', event: 'Buy', properties: {}, timestamp: '2026-11-21T12:48:23.651153019Z' },
      ],
      context: { library: { name: 'rust' } },
    },
    expected: [
      { type: 'track', event: 'Buy', timestamp: '2026-11-21T12:48:23.651Z', context: { library: { name: 'rust' } } },
    ],
  },
}

it.each(Object.entries(clients))('serves %s', async (_name, { path, headers, gzip = false, body, expected }) => {
  const text = JSON.stringify(body)
  const response = await request(server.url + path, {
    method: 'POST',
    headers: { ...headers, ...(gzip ? { 'content-encoding': 'gzip' } : {}) },
    body: gzip ? gzipSync(text) : text,
  })
  expect(response.statusCode).toBe(200)
  expect(await response.body.json()).toMatchObject({
    success: true,
    accepted: server.port.events.map((event) => event.messageId),
  })
  const bodies = server.port.bodies()
  expect(bodies).toMatchObject(expected)
  expect(bodies).toHaveLength(expected.length)
  for (const delivered of bodies) {
    expect(delivered).toMatchObject({ version: 1, context: expect.any(Object) as object })
    for (const member of ['writeKey', 'integrations', 'sentAt', 'channel', '_metadata', 'originalTimestamp']) {
      expect(delivered).not.toHaveProperty(member)
    }
  }
})
