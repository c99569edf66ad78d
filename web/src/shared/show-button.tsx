import { Button } from '@mantine/core'

/** At the end of a row: opens more of it.
 *  @param label  what is shown, of which row: all buttons of a table read the same */
export function ShowButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button variant="default" size="compact-sm" aria-label={label} onClick={onClick}>
      Show
    </Button>
  )
}
