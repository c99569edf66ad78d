import { queryOptions } from '@tanstack/react-query'
import type { Session } from '../../../src/schemas/access.ts'
import { answerOf, api, ApiError } from './request.ts'

export const signIn = (token: string) => answerOf(api.POST('/session', { body: { token } }))

export const signOut = () => answerOf(api.DELETE('/session'))

/** Whether the session of this page has ended. */
export const sessionEndedQuery = queryOptions({
  queryKey: ['session-ended'],
  queryFn: () => false,
  initialData: false,
  staleTime: Infinity,
  enabled: false,
})

/** The session of this browser; null when it is not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal, client, queryKey }): Promise<Session | null> => {
    try {
      return await answerOf(api.GET('/session', { signal }))
    } catch (error) {
      // A session that ends leaves the page as it is: who was signed in signs in beside it.
      if (error instanceof ApiError && error.status === 401 && !client.getQueryData<Session>(queryKey)) return null
      throw error
    }
  },
  staleTime: 60_000,
})
