/** Colours and defaults: the library's own, with contrasts that pass WCAG AA in light and dark. */

import { createTheme, type CSSVariablesResolver } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  autoContrast: true,
  respectReducedMotion: true,
  headings: { fontWeight: '650' },
  components: {
    Button: { defaultProps: { size: 'sm' } },
    Table: { styles: { td: { overflowWrap: 'anywhere' } } },
    Badge: { defaultProps: { tt: 'none' }, styles: { root: { minWidth: 'fit-content' } } },
    Checkbox: { styles: { labelWrapper: { minWidth: 0 }, label: { overflowWrap: 'anywhere' } } },
    Tooltip: { defaultProps: { withArrow: true, events: { hover: true, focus: true, touch: false } } },
  },
})

/** Text on the pale backgrounds of badges and notices; the library's own falls just short of 4.5 : 1. */
const darkerText = Object.fromEntries(
  ['teal', 'yellow', 'orange', 'red', 'blue', 'grape', 'gray', 'indigo'].map((color) => [
    `--mantine-color-${color}-light-color`,
    `color-mix(in srgb, var(--mantine-color-${color}-9), black 30%)`,
  ]),
)

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5b636b',
    '--mantine-color-placeholder': '#6b7278',
    '--mantine-color-error': '#c92a2a',
    ...darkerText,
  },
  dark: {
    '--mantine-color-dimmed': '#a9adb3',
    '--mantine-color-placeholder': '#9a9ea4',
    '--mantine-color-anchor': '#a5b4fc',
    '--mantine-color-error': '#ffa8a8',
  },
})
