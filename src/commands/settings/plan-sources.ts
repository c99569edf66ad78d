import { existing } from '../shared/lookup.ts'
import { sourceEntry, withoutLocal } from './current.ts'
import type { SourceEntry } from './file.ts'
import { isSame, planDeletions, refOf, sameMembers, type Change, type PlanContext, type Step } from './change.ts'

export function planSources(context: PlanContext): Change[] {
  const { current, file } = context
  return [
    ...file.sources.flatMap((entry) => planSource(context, entry)),
    ...planDeletions(context, 'sources', withoutLocal(current).sources, sourceEntry),
  ]
}

function planSource({ current }: PlanContext, entry: SourceEntry): Change[] {
  const { name, enabled } = entry
  const source = existing(current.sources, name)
  if (source === undefined) {
    const ref = refOf('sources', name)
    const steps: Step[] = [
      { action: 'create', ref, body: { name } },
      ...(enabled === false ? [{ action: 'update', id: ref, body: { enabled } } as const] : []),
    ]
    return [{ kind: 'sources', action: 'create', name, before: null, after: entry, steps }]
  }
  const before = sameMembers({ ...sourceEntry(source) }, entry)
  if (isSame(before, entry)) return []
  const steps: Step[] = [{ action: 'update', id: source.id, body: { enabled } }]
  return [{ kind: 'sources', action: 'update', name, before, after: entry, steps }]
}
