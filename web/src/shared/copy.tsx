import { ActionIcon, Box, Button, Code, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useCopy } from './use-copy.ts'

interface CopyProps {
  value: string
  /** What is copied, as in `write key`. */
  name: string
}

export function CopyIcon({ value, name }: CopyProps) {
  const { outcome, copy } = useCopy(value)
  const label = outcome === undefined ? `Copy ${name}` : words[outcome]
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={label}>
        {outcome === 'copied' ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
      </ActionIcon>
    </Tooltip>
  )
}

export function CopyTextButton({ value, name }: CopyProps) {
  const { outcome, copy } = useCopy(value)
  return (
    <Button
      variant="default"
      onClick={copy}
      leftSection={outcome === 'copied' ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
    >
      {outcome === undefined ? `Copy ${name}` : words[outcome]}
    </Button>
  )
}

const words = { copied: 'Copied', failed: 'Not copied: select it and copy it by hand' } as const

interface CodeProps extends CopyProps {
  maxHeight?: number
}

/** Text to be read or copied as it is. */
export function CodeBlock({ value, name, maxHeight = 360 }: CodeProps) {
  return (
    <Box pos="relative">
      <Code block tabIndex={0} role="region" aria-label={name} mah={maxHeight} pr={44} style={{ overflow: 'auto' }}>
        {value}
      </Code>
      <Box pos="absolute" top={6} right={6} bg="var(--mantine-color-body)" style={{ borderRadius: 6 }}>
        <CopyIcon value={value} name={name} />
      </Box>
    </Box>
  )
}
