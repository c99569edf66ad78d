/** Mappings of destinations: what becomes of an event before it is sent there. */

import { z } from 'zod'
import { maxPathLength } from './filter.ts'

/** Most paths of each member of a mapping. */
export const maxMappedPaths = 100
/** Longest expression, in characters. */
const maxExpressionLength = 8_192
/** Longest text that is set, in characters. */
const maxConstantLength = 1_024

const PathSchema = z.string().min(1).max(maxPathLength)
const paths = z.array(PathSchema).min(1).max(maxMappedPaths)

const hasRoom = (entries: object): boolean => Object.keys(entries).length <= maxMappedPaths
const tooMany = `must have at most ${maxMappedPaths} paths`
/** Of a member whose name is no path. */
const isNoPath = ({ code }: { code?: string }): string | undefined =>
  code === 'invalid_key' ? `must have a path of 1 to ${maxPathLength} characters for each value` : undefined

/** A value that is set at a path. */
const ConstantSchema = z.union([z.string().max(maxConstantLength), z.number(), z.boolean(), z.null()], {
  error: `must be a text of at most ${maxConstantLength} characters, a number, true, false or null`,
})
export type Constant = z.infer<typeof ConstantSchema>

/** What becomes of an event: the members that are there, in this order, each on what the one before left. */
export const MappingSchema = z.strictObject({
  keep: paths.optional().describe('Paths of what stays, 1 to 100; all else goes'),
  drop: paths.optional().describe('Paths of what goes, 1 to 100'),
  hash: paths
    .optional()
    .describe(
      'Paths of texts and numbers in whose place their SHA-256 is sent, 64 hexadecimal digits, 1 to 100; of an e-mail address trimmed and in lower case',
    ),
  rename: z
    .record(PathSchema, PathSchema, { error: isNoPath })
    .refine(hasRoom, tooMany)
    .superRefine((renamed, context) => {
      const places = new Set<string>()
      for (const [from, to] of Object.entries(renamed)) {
        if (places.has(to))
          context.addIssue({ code: 'custom', path: [from], message: 'is where another value goes, too' })
        places.add(to)
      }
    })
    .optional()
    .describe('Where values go, by the path at which they stand, at most 100'),
  set: z
    .record(PathSchema, ConstantSchema, { error: isNoPath })
    .refine(hasRoom, tooMany)
    .optional()
    .describe('Values by the path at which they are put, at most 100; what stands there is replaced'),
  expression: z
    .string()
    .min(1)
    .max(maxExpressionLength)
    .optional()
    .describe('JSONata that makes of what the others left the object that is sent, at most 8,192 characters'),
})
export type Mapping = z.infer<typeof MappingSchema>
