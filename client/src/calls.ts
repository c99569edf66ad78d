/** What callers pass in, as types: most wrong calls do not compile. Rules: `spec/`, "Messages". */

/** An object that JSON can hold. */
export type JsonObject = Record<string, unknown>

/** Who it is about: a `userId`, an `anonymousId`, or both. */
export type Identity =
  | { userId: string; anonymousId?: string | null | undefined }
  | { userId?: string | null | undefined; anonymousId: string }

/** Who it is about, where the client may know it by itself: what is missing is what it remembers. */
export interface RememberedIdentity {
  userId?: string | null | undefined
  anonymousId?: string | null | undefined
}

/** Members that every call may have. */
export interface CommonMembers {
  /** When it happened: a `Date` or ISO 8601. Default: the moment of the call. Set it to import the past. */
  timestamp?: Date | string | undefined
  /** Surroundings of the call (device, IP address and the like); not an attribute of the user. */
  context?: object | undefined
  /** Destinations by name (case-sensitive), on or off. `All: false` switches off those that are not named. */
  integrations?: Record<string, boolean | JsonObject> | undefined
  /** Up to 100 characters. Default: a new UUID. The server delivers a repeated one only once. */
  messageId?: string | undefined
}

/** Who someone is. Call it when an account is made, and again when its traits change. */
export type IdentifyCall<Who = Identity> = CommonMembers & Who & { traits?: object | undefined }

/** What someone belongs to. */
export type GroupCall<Who = Identity> = CommonMembers & Who & { groupId: string; traits?: object | undefined }

/** Joins two identities: `previousId` becomes known as `userId`. */
export type AliasCall = CommonMembers & {
  userId: string
  previousId: string
  anonymousId?: string | null | undefined
}

/** The members of a page's `properties` that are known; others are free. */
export interface PageProperties {
  url?: string | undefined
  title?: string | undefined
  referrer?: string | undefined
  path?: string | undefined
  [custom: string]: unknown
}

/** A page that was seen. */
export type PageCall<Who = Identity> = CommonMembers &
  Who & {
    name?: string | undefined
    category?: string | undefined
    properties?: PageProperties | undefined
    /** Another name of `properties`; where both have a member, `properties` counts. */
    traits?: PageProperties | undefined
  }

/** A screen of an app that was seen. */
export type ScreenCall<Who = Identity> = CommonMembers &
  Who & { name?: string | undefined; category?: string | undefined; properties?: object | undefined }

/** Event names and the type of their properties, when the caller gives no map of its own. */
export type AnyEvents = Record<string, JsonObject>

type PropertiesOf<Properties> =
  Partial<Properties> extends Properties ? { properties?: Properties | undefined } : { properties: Properties }

/** What someone did. `Events` maps event names to the types of their properties. */
export type TrackCall<Events, Name extends keyof Events & string, Who = Identity> = CommonMembers &
  Who & { event: Name } & PropertiesOf<Events[Name]>

export type CallType = 'identify' | 'track' | 'page' | 'screen' | 'group' | 'alias'

/** A call as it was queued and is sent. */
export interface Message extends JsonObject {
  type: CallType
  messageId: string
  /** ISO 8601, UTC. */
  timestamp: string
}
