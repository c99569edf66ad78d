import { useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'

/** Whether the person who is signed in may change things; a viewer only reads. */
export const useCanChange = (): boolean => useQuery(sessionQuery).data?.role === 'admin'
