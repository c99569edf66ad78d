import { useQuery } from '@tanstack/react-query'
import { destinationsQuery } from '../api/destinations.ts'

/** Puts the present URLs of endpoints into a text in the place of their ids; those that are gone keep their id. */
export function useEndpointUrls(): (text: string) => string {
  const destinations = useQuery(destinationsQuery).data ?? []
  const urls = new Map(
    destinations.flatMap(({ settings }) => settings.webhooks.map(({ id, url }) => [id, url] as const)),
  )
  return (text) => text.replace(/ep_[0-9a-f]+/g, (id) => urls.get(id) ?? id)
}
