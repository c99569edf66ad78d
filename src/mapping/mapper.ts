/** Mappings of deliveries: each names the version that was in force when its event was accepted, so that a change does not reach
 *  what is under way. */

import { LRUCache } from 'lru-cache'
import type { Mapping } from '../schemas/mapping.ts'
import type { MessageBody } from '../schemas/message.ts'
import { compileMapping, mappingFailure, type Evaluate, type EventMapping, type Mapped } from './mapping.ts'

/** Versions that are kept ready. */
const maxReady = 1_000

/** Names a version. */
export interface MappingVersion {
  destinationId: string
  mappingId: string
}

export interface Mapper {
  /** What becomes of an event. @throws when the version cannot be read now */
  map(version: MappingVersion, event: MessageBody): Promise<Mapped>
  /** Makes a mapping ready that is not in force. */
  compile(mapping: Mapping): EventMapping
}

/** @param read  undefined: there is no such version */
export function createMapper(
  read: (version: MappingVersion) => Promise<Mapping | undefined>,
  evaluate: Evaluate,
): Mapper {
  const ready = new LRUCache<string, EventMapping>({ max: maxReady })
  const find = async (version: MappingVersion): Promise<EventMapping> => {
    const mapping = await read(version)
    if (mapping === undefined)
      return () => mappingFailure('the version that the delivery was to have is not kept any more')
    const compiled = compileMapping(mapping, evaluate)
    ready.set(version.mappingId, compiled)
    return compiled
  }
  return {
    async map(version, event) {
      const known = ready.get(version.mappingId) ?? (await find(version))
      return known(event)
    },
    compile: (mapping) => compileMapping(mapping, evaluate),
  }
}
