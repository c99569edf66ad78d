/** Sample messages: what a test of an endpoint sends. */

import type { MessageBody, MessageType } from '../schemas/message.ts'

const context = { library: { name: 'postrider-test', version: '1' } }

const members: Record<Exclude<MessageType, 'delete'>, Record<string, unknown>> = {
  track: { event: 'Test Event', properties: { plan: 'pro', value: 19.5 } },
  page: { properties: { path: '/', referrer: '', title: 'Home', url: 'https://example.com/' } },
  screen: {
    name: 'Home',
    properties: {},
    context: {
      ...context,
      device: { model: 'Phone 1', type: 'phone' },
      os: { name: 'Phone OS', version: '1.0' },
      app: { build: '1', name: 'Example', version: '1.0' },
    },
  },
  identify: { traits: { name: 'Test User', plan: 'pro' } },
  group: { groupId: 'test-group', traits: { name: 'Example Inc.' } },
  alias: { 'Previous ID': 'test-visitor', 'User ID': 'test-user' },
}

/** A message of `type`, in the shape of `spec/`, "Delivered message bodies". */
export function sampleMessage(type: MessageType, messageId: string, at: Date): MessageBody {
  const timestamp = at.toISOString()
  const userId = 'test-user'
  if (type === 'delete') return { type, userId, timestamp }
  return { version: 1, type, messageId, userId, timestamp, context, ...members[type] }
}
