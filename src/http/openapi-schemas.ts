/** Schemas that have a name in the description of the API, so that generators of clients make one type of each. */

import { z } from 'zod'
import {
  ApiTokenSchema,
  CreatedApiTokenSchema,
  NewApiTokenSchema,
  SessionSchema,
  SignInSchema,
} from '../schemas/access.ts'
import { ActivitySchema } from '../schemas/activity.ts'
import {
  AlertChannelPatchSchema,
  AlertChannelSchema,
  AlertRulesSchema,
  AlertSchema,
  NewAlertChannelSchema,
} from '../schemas/alert.ts'
import {
  AudienceMemberSchema,
  AudiencePatchSchema,
  AudienceScheduleSchema,
  AudienceSchema,
  MemberChangeSchema,
  NewAudienceSchema,
  PreviewSchema,
  SyncSchema,
  SyncUserSchema,
} from '../schemas/audience.ts'
import { AuditEntrySchema } from '../schemas/audit.ts'
import { PayloadsSchema } from '../schemas/codec.ts'
import {
  DeletionRequestDetailSchema,
  DeletionRequestSchema,
  LiftedSuppressionsSchema,
  LiftSuppressionsSchema,
  NewDeletionRequestSchema,
} from '../schemas/deletion-request.ts'
import {
  BulkSteeringSchema,
  DeliveryAttemptSchema,
  DeliveryDestinationSchema,
  DeliveryDetailSchema,
  DeliverySchema,
  SteerableSchema,
} from '../schemas/delivery.ts'
import { DestinationPatchSchema, DestinationViewSchema, NewDestinationSchema } from '../schemas/destination.ts'
import { EndpointTestSchema } from '../schemas/endpoint-test.ts'
import { FilterSchema, RuleSchema } from '../schemas/filter.ts'
import { FirstOutcomeSchema } from '../schemas/first-outcome.ts'
import { MappingSchema } from '../schemas/mapping.ts'
import { OverviewSchema } from '../schemas/overview.ts'
import { RehearsalSchema } from '../schemas/rehearsal.ts'
import { RetryPausesSchema } from '../schemas/retry-options.ts'
import { NewSourceSchema, SourcePatchSchema, SourceSchema } from '../schemas/source.ts'
import { CatalogItemSchema, OnboardingSchema, ReadinessSchema, StatusSchema } from '../schemas/system.ts'
import { TurnedAwayDetailSchema, TurnedAwayEventSchema } from '../schemas/turned-away.ts'
import { ErrorSchema } from './management/schemas.ts'

const named = {
  Activity: ActivitySchema,
  Alert: AlertSchema,
  AlertChannel: AlertChannelSchema,
  AlertChannelPatch: AlertChannelPatchSchema,
  AlertRules: AlertRulesSchema,
  ApiToken: ApiTokenSchema,
  Audience: AudienceSchema,
  AudienceMember: AudienceMemberSchema,
  AudiencePatch: AudiencePatchSchema,
  AudienceSchedule: AudienceScheduleSchema,
  AuditEntry: AuditEntrySchema,
  BulkSteering: BulkSteeringSchema,
  CatalogItem: CatalogItemSchema,
  CreatedApiToken: CreatedApiTokenSchema,
  DeletionRequest: DeletionRequestSchema,
  DeletionRequestDetail: DeletionRequestDetailSchema,
  Delivery: DeliverySchema,
  DeliveryAttempt: DeliveryAttemptSchema,
  DeliveryDestination: DeliveryDestinationSchema,
  DeliveryDetail: DeliveryDetailSchema,
  Destination: DestinationViewSchema,
  DestinationPatch: DestinationPatchSchema,
  EndpointTest: EndpointTestSchema,
  Error: ErrorSchema,
  Filter: FilterSchema,
  FirstOutcome: FirstOutcomeSchema,
  LiftedSuppressions: LiftedSuppressionsSchema,
  LiftSuppressions: LiftSuppressionsSchema,
  Mapping: MappingSchema,
  MemberChange: MemberChangeSchema,
  NewAlertChannel: NewAlertChannelSchema,
  NewApiToken: NewApiTokenSchema,
  NewAudience: NewAudienceSchema,
  NewDeletionRequest: NewDeletionRequestSchema,
  NewDestination: NewDestinationSchema,
  NewSource: NewSourceSchema,
  Onboarding: OnboardingSchema,
  Overview: OverviewSchema,
  Payloads: PayloadsSchema,
  Preview: PreviewSchema,
  Readiness: ReadinessSchema,
  Rehearsal: RehearsalSchema,
  RetryPauses: RetryPausesSchema,
  Rule: RuleSchema,
  Session: SessionSchema,
  SignIn: SignInSchema,
  Source: SourceSchema,
  SourcePatch: SourcePatchSchema,
  Status: StatusSchema,
  Steerable: SteerableSchema,
  Sync: SyncSchema,
  SyncUser: SyncUserSchema,
  TurnedAwayDetail: TurnedAwayDetailSchema,
  TurnedAwayEvent: TurnedAwayEventSchema,
} satisfies Record<string, z.ZodType>

/** To be called before routes are described: not where schemas are made, as names must be unique in a process, and some have a second copy of them. */
export function nameSchemas(): void {
  for (const [id, schema] of Object.entries(named) as [string, z.ZodType][])
    if (z.globalRegistry.get(schema)?.id !== id) z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id })
}
