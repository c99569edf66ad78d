import { ActionIcon, Box, Button, Code, CopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

interface CopyProps {
  value: string
  /** What is copied, as in `write key`. */
  name: string
}

export function CopyIcon({ value, name }: CopyProps) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${name}`}>
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={copied ? 'Copied' : `Copy ${name}`}>
            {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

export function CopyTextButton({ value, name }: CopyProps) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button
          variant="default"
          onClick={copy}
          leftSection={copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
        >
          {copied ? 'Copied' : `Copy ${name}`}
        </Button>
      )}
    </CopyButton>
  )
}

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
