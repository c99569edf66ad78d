import { Button } from '@mantine/core'

/** Empties all filters of a list. The button is gone then: who uses the keyboard goes on at the first filter. */
export const ClearFilters = ({ onClear }: { onClear: () => void }) => (
  <Button
    variant="subtle"
    onClick={({ currentTarget }) => {
      currentTarget.closest('[role=search]')?.querySelector('input')?.focus()
      onClear()
    }}
  >
    Clear filters
  </Button>
)
