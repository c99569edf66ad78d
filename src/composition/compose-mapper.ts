/** The mappings of destinations: those in force stand in memory, others that a delivery still names in the database. */

import type { Database } from '../db/database.ts'
import { readMapping } from '../db/mappings.ts'
import type { Expressions } from '../mapping/expressions.ts'
import { createMapper, type Mapper } from '../mapping/mapper.ts'
import type { Settings } from '../settings/settings.ts'

export const composeMapper = (database: Database, settings: Settings, { evaluate }: Expressions): Mapper =>
  createMapper(async ({ destinationId, mappingId }) => {
    const destination = settings.destination(destinationId)
    if (destination?.mapping && destination.mappingId === mappingId) return destination.mapping
    return readMapping(database, destinationId, mappingId)
  }, evaluate)
