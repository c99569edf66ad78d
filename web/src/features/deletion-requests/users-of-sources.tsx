import { MultiSelect, Textarea } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/request.ts'
import { sourcesQuery } from '../../api/sources.ts'
import { sentence } from '../../shared/error-notice.tsx'
import { explainAtField } from '../../shared/form-errors.ts'

/** Users, as they are typed, and the sources that they are users of; none: all. */
export interface UsersOfSources {
  lines: string
  sourceIds: string[]
}

export const nobody: UsersOfSources = { lines: '', sourceIds: [] }

/** Whether nothing is entered. */
export const isNobody = ({ lines, sourceIds }: UsersOfSources): boolean => lines === '' && sourceIds.length === 0

/** As the API takes them: each user once, however often the id is typed. */
export const bodyOf = ({ lines, sourceIds }: UsersOfSources): { userIds: string[]; sourceIds?: string[] } => ({
  userIds: [...new Set(lines.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()])))],
  ...(sourceIds.length > 0 && { sourceIds }),
})

/** Longest part of an id that a sentence names, in characters. */
const namedLength = 100

/** Why they were not taken; what is about one user names it. */
export function whyRefused(error: Error, userIds: string[]): string {
  const path = error instanceof ApiError ? error.path : undefined
  if (path?.startsWith('userIds') !== true || !error.message.startsWith(path)) return explainAtField(error)
  const id = userIds[Number(/^userIds\[(\d+)\]$/.exec(path)?.[1])]
  const who = id === undefined ? 'the list of users' : `user “${id.slice(0, namedLength)}”`
  return sentence(who + error.message.slice(path.length))
}

interface Props {
  value: UsersOfSources
  onChange: (value: UsersOfSources) => void
  sourcesDescription: string
}

export function UsersOfSourcesFields({ value, onChange, sourcesDescription }: Props) {
  const sources = useQuery(sourcesQuery).data ?? []
  return (
    <>
      <Textarea
        label="User ids"
        description="One per line"
        required
        autosize
        minRows={3}
        maxRows={12}
        value={value.lines}
        onChange={({ currentTarget }) => onChange({ ...value, lines: currentTarget.value })}
      />
      <MultiSelect
        label="Sources"
        description={sourcesDescription}
        data={sources.map(({ id, name }) => ({ value: id, label: name }))}
        value={value.sourceIds}
        onChange={(sourceIds) => onChange({ ...value, sourceIds })}
      />
    </>
  )
}
