import { SourceSchema } from '../../schemas/source.ts'
import { segment } from '../shared/api.ts'
import { existing } from '../shared/lookup.ts'
import { sourceEntry, withoutLocal } from './current.ts'
import type { SourceEntry } from './file.ts'
import { isSame, planDeletions, sameMembers, type Change, type PlanContext } from './change.ts'

export function planSources(context: PlanContext): Change[] {
  const { current, file } = context
  return [
    ...file.sources.flatMap((entry) => planSource(context, entry)),
    ...planDeletions(context, 'sources', withoutLocal(current).sources, sourceEntry),
  ]
}

function planSource({ api, current, created }: PlanContext, entry: SourceEntry): Change[] {
  const { name, enabled } = entry
  const source = existing(current.sources, name)
  const enable = (id: string) => api.call('PATCH', `/sources/${segment(id)}`, SourceSchema, { enabled })
  if (source === undefined) {
    const apply = async () => {
      const { id } = await api.call('POST', '/sources?uniqueName=true', SourceSchema, { name })
      created('sources', name, id)
      if (enabled === false) await enable(id)
    }
    return [{ kind: 'sources', action: 'create', name, before: null, after: entry, apply }]
  }
  const before = sameMembers({ ...sourceEntry(source) }, entry)
  if (isSame(before, entry)) return []
  const apply = async () => {
    await enable(source.id)
  }
  return [{ kind: 'sources', action: 'update', name, before, after: entry, apply }]
}
