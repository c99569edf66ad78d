import { queryOptions } from '@tanstack/react-query'
import type { Session } from '../../../src/schemas/access.ts'
import { ApiError, request } from './request.ts'

export const signIn = (token: string): Promise<Session> => request('POST', '/session', { body: { token } })

export const signOut = (): Promise<unknown> => request('DELETE', '/session')

/** The session of this browser; null when it is not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async ({ signal }): Promise<Session | null> => {
    try {
      return await request<Session>('GET', '/session', { signal })
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})
