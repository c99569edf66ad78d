/** Alerts: their history and mutes, the rules, and the channels. */

import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { linkTo, tell } from '../../alerts/tell.ts'
import {
  createAlertChannel,
  deleteAlertChannel,
  listAlertChannels,
  noteTold,
  openAlertChannel,
  readAlertChannel,
  updateAlertChannel,
} from '../../db/alert-channels.ts'
import { previewAlerts, readAlertRules, replaceAlertRules } from '../../db/alert-rules.ts'
import { listAlerts, muteAlert } from '../../db/alerts.ts'
import type { Database } from '../../db/database.ts'
import type { AddressGuard } from '../../delivery/guard-address.ts'
import type { Sender } from '../../delivery/send.ts'
import {
  AlertChannelPatchSchema,
  AlertChannelSchema,
  AlertChannelTestSchema,
  AlertPreviewSchema,
  AlertRulesSchema,
  AlertSchema,
  MuteAlertSchema,
  NewAlertChannelSchema,
} from '../../schemas/alert.ts'
import type { SecretBox } from '../../secrets.ts'
import { checkChannel } from './check-channel.ts'
import { tagged, unchangedCheck } from './entity-tag.ts'
import { DoneSchema, errorResponses, IdParamsSchema, PageQuerySchema, pageSchema, security } from './schemas.ts'

export interface AlertRouteDependencies {
  database: Database
  secrets: SecretBox
  guard: AddressGuard
  sender: Sender
}

const tags = ['alerts']

export const alertRoutes: FastifyPluginAsyncZod<AlertRouteDependencies> = async (app, dependencies) => {
  const { database, secrets, guard } = dependencies

  app.get(
    '/alerts',
    {
      schema: {
        tags,
        summary: 'Alerts, newest first: open ones, and the newest 1,000 that are over',
        security,
        querystring: PageQuerySchema,
        response: { 200: pageSchema(AlertSchema), ...errorResponses },
      },
    },
    ({ query }) => listAlerts(database, query),
  )

  app.post(
    '/alerts/:id/mute',
    {
      schema: {
        tags,
        summary: 'Tell nothing of its subject for a time; the history goes on',
        security,
        params: IdParamsSchema,
        body: MuteAlertSchema,
        response: { 200: AlertSchema, ...errorResponses },
      },
    },
    ({ params, body }) => muteAlert(database, params.id, body.seconds),
  )

  app.get(
    '/alert-rules',
    {
      schema: {
        tags,
        security,
        summary: 'What begins an alert',
        response: { 200: AlertRulesSchema, ...errorResponses },
      },
    },
    async (request, reply) => tagged(request, reply, await readAlertRules(database)),
  )

  app.put(
    '/alert-rules',
    {
      schema: {
        tags,
        security,
        summary: 'Replace all rules',
        body: AlertRulesSchema,
        response: { 200: AlertRulesSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      await replaceAlertRules(database, request.body, unchangedCheck(request, request.body))
      return tagged(request, reply, request.body)
    },
  )

  app.post(
    '/alert-rules/preview',
    {
      config: { audit: false },
      schema: {
        tags,
        security,
        summary: 'What would be open now with these rules; nothing is saved or told',
        body: AlertRulesSchema,
        response: { 200: AlertPreviewSchema, ...errorResponses },
      },
    },
    ({ body }) => previewAlerts(database, body),
  )

  app.get(
    '/alert-channels',
    {
      schema: {
        tags,
        security,
        summary: 'Who is told of alerts',
        response: { 200: z.object({ items: z.array(AlertChannelSchema) }), ...errorResponses },
      },
    },
    async () => ({ items: await listAlertChannels(database, secrets) }),
  )

  app.post(
    '/alert-channels',
    {
      schema: {
        tags,
        security,
        summary: 'Tell one more of alerts',
        body: NewAlertChannelSchema,
        response: { 201: AlertChannelSchema, ...errorResponses },
      },
    },
    async ({ body }, reply) => {
      checkChannel(body.settings, guard)
      return reply.code(201).send(await createAlertChannel(database, secrets, body))
    },
  )

  app.get(
    '/alert-channels/:id',
    {
      schema: {
        tags,
        security,
        summary: 'A channel',
        params: IdParamsSchema,
        response: { 200: AlertChannelSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { channel, content } = await readAlertChannel(database, secrets, request.params.id)
      tagged(request, reply, content)
      return channel
    },
  )

  app.patch(
    '/alert-channels/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Change a channel; what is left out stays',
        params: IdParamsSchema,
        body: AlertChannelPatchSchema,
        response: { 200: AlertChannelSchema, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      checkChannel(body.settings, guard)
      const check = unchangedCheck(request, body)
      const { channel, content } = await updateAlertChannel(database, secrets, params.id, body, check)
      tagged(request, reply, content)
      return channel
    },
  )

  app.delete(
    '/alert-channels/:id',
    {
      schema: {
        tags,
        security,
        summary: 'Tell a channel nothing any more',
        params: IdParamsSchema,
        response: { 200: DoneSchema, ...errorResponses },
      },
    },
    async ({ params }) => {
      await deleteAlertChannel(database, params.id)
      return { success: true as const }
    },
  )

  app.post(
    '/alert-channels/:id/test',
    {
      // It waits for the channel.
      config: { needs: [] },
      schema: {
        tags,
        summary: 'Tell the channel of a sample alert, now',
        security,
        params: IdParamsSchema,
        response: { 200: AlertChannelTestSchema, ...errorResponses },
      },
    },
    async ({ params }) => {
      const { settings, appUrl } = await openAlertChannel(database, secrets, params.id)
      const at = new Date().toISOString()
      const alert = { ...sample, id: `test-${Date.parse(at)}`, openedAt: at, closedAt: null, closedReason: null }
      const telling = await tell(dependencies, settings, { alert, change: 'opened', link: linkTo(appUrl, '/alerts') })
      await noteTold(database, params.id, telling.kind === 'told' ? null : telling.reason)
      return telling.kind === 'told'
        ? { outcome: 'told' as const }
        : { outcome: 'failed' as const, error: telling.reason }
    },
  )
}

const sample = {
  kind: 'endpoint_failing',
  subject: 'test',
  name: 'Test alert',
  reason: 'This is a test: nothing is wrong.',
} as const
