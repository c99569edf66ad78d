import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { deliveryQuery } from '../api/deliveries.ts'
import { turnedAwayEventQuery } from '../api/turned-away.ts'
import { CodeBlock } from './copy.tsx'
import { whyTurnedAway } from './fates.ts'
import { QueryView } from './query-view.tsx'

/** What an event held that became no delivery, and why. */
export function TurnedAwayBody({ id }: { id: string }) {
  const query = useQuery(turnedAwayEventQuery(id))
  return (
    <QueryView query={query}>
      {({ fate, message, body }) => (
        <Stack>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {whyTurnedAway({ message, fate })}
          </Text>
          {body === null ? (
            <Text size="sm" c="dimmed">
              Its body was not kept: it came in a batch that was refused as a whole, or its request could not be read.
            </Text>
          ) : (
            <CodeBlock name="body" value={formatted(body)} />
          )}
        </Stack>
      )}
    </QueryView>
  )
}

/** The body that the endpoints of an accepted event get. */
export function AcceptedBody({ deliveryId }: { deliveryId: string }) {
  const query = useQuery(deliveryQuery(deliveryId))
  return (
    <QueryView query={query}>
      {({ message }) => <CodeBlock name="body" value={JSON.stringify(message, null, 2)} />}
    </QueryView>
  )
}

/** A long body is cut, and no JSON any more. */
function formatted(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return `${body} …`
  }
}
