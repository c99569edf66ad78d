import type { UseFormReturnType } from '@mantine/form'
import { useQueryClient, type FetchQueryOptions, type QueryKey } from '@tanstack/react-query'
import { useState } from 'react'
import type { Tagged } from '../api/request.ts'
import { isChangedMeanwhile } from './changed-meanwhile.tsx'

interface Options<Answer, Values, Read extends Answer, Key extends QueryKey> {
  form: Pick<UseFormReturnType<Values>, 'setInitialValues' | 'setValues' | 'clearErrors'>
  /** What is edited, as it was read. */
  current: Tagged<Answer>
  /** Reads it again; more may be read than is edited. */
  query: FetchQueryOptions<Tagged<Read>, Error, Tagged<Read>, Key>
  toValues: (answer: Answer) => Values
  /** Called with what the form begins anew from, for what is edited beside it. */
  onLoad?: (answer: Answer) => void
}

/** The state of a form over something that others may change meanwhile. */
export function useTaggedForm<Answer, Values, Read extends Answer, Key extends QueryKey>({
  form,
  current,
  query,
  toValues,
  onLoad,
}: Options<Answer, Values, Read, Key>) {
  const client = useQueryClient()
  const [loaded, setLoaded] = useState(current)
  const [problem, setProblem] = useState<string>()
  const load = (next: Tagged<Answer>): void => {
    const values = toValues(next.answer)
    form.setInitialValues(values)
    form.setValues(values)
    form.clearErrors()
    setLoaded(next)
    setProblem(undefined)
    onLoad?.(next.answer)
  }
  return {
    /** What the form's values were before they were edited. */
    loaded,
    /** Why it was not saved, where no field tells it. */
    problem,
    setProblem,
    /** Begins anew from what was read or saved. */
    load,
    reload: async (): Promise<void> => load(await client.fetchQuery({ ...query, staleTime: 0 })),
    /** Tells why it was not saved; that others changed it meanwhile is asked in a place of its own.
     *  @param place  shows the error at its field, or answers it as a text */
    tell: (error: Error, place: (error: Error) => string | undefined): void =>
      setProblem(isChangedMeanwhile(error) ? undefined : place(error)),
  }
}
