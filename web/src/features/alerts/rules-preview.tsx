import { List, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { AlertPreview, AlertRules } from '../../../../src/schemas/alert.ts'
import { alertPreviewQuery } from '../../api/alerts.ts'
import { notTried, notTriedYet } from '../../shared/form-errors.ts'
import { readableReason } from '../../shared/readable-reason.ts'
import { alertKinds } from './alert-kinds.ts'

/** How long typing must pause before the rules are tried, in milliseconds. */
const typingPauseMs = 500

const title = 'With these rules, open now'

/** What would be open now; follows as the rules are typed. Nothing is saved or told. */
export function RulesPreview({ rules, isWithinBounds }: { rules: AlertRules; isWithinBounds: boolean }) {
  const [text] = useDebouncedValue(JSON.stringify(rules), typingPauseMs)
  const query = useQuery({ ...alertPreviewQuery(text), placeholderData: keepPreviousData, enabled: isWithinBounds })
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Text fw={600}>{title}</Text>
      <div aria-live="polite">
        <Text size="sm">
          {!isWithinBounds ? notTriedYet : query.error === null ? summaryOf(query.data) : notTried(query.error)}
        </Text>
      </div>
      {query.data !== undefined && query.data.items.length > 0 && (
        <List size="sm" style={{ overflowWrap: 'anywhere' }}>
          {query.data.items.map(({ kind, subject, name, reason }) => (
            <List.Item key={`${kind}/${subject}`}>
              {alertKinds[kind]}: {name}
              <Text size="xs" c="dimmed">
                {readableReason(reason)}
              </Text>
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  )
}

function summaryOf(preview: AlertPreview | undefined): string {
  if (preview === undefined) return 'Looking …'
  const { length } = preview.items
  return length === 0 ? 'Nothing: all is well by these rules.' : `${length === 1 ? '1 alert' : `${length} alerts`}:`
}
