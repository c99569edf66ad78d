/** Colours and defaults: the library's own, with contrasts that pass WCAG AA in light and dark. */

import { createTheme, type CSSVariablesResolver } from '@mantine/core'

/** A text is read in its own direction. An attribute `dir` would also move the parts of a field, which stay where they are. */
const ownDirection = { unicodeBidi: 'plaintext', textAlign: 'start' } as const

const textField = { styles: { input: ownDirection } } as const

/** Lists of choices scroll by themselves: a scroll area within would be one that the keyboard, which stays in the field, does not
 *  reach. A name is read in its own direction, and breaks rather than widening the list. */
const choices = {
  defaultProps: { withScrollArea: false },
  styles: {
    options: { maxHeight: 220, overflowY: 'auto' },
    option: { overflowWrap: 'anywhere', ...ownDirection },
    input: ownDirection,
  },
} as const

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
    // Without it, a menu would hold something that is no item of it.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    // A long name in it breaks, rather than pushing the close button out of the dialog.
    Modal: { styles: { title: { minWidth: 0, overflowWrap: 'anywhere', ...ownDirection } } },
    // Its close button has no name of its own.
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close the message' } } },
    Table: { styles: { td: { overflowWrap: 'anywhere' } } },
    Badge: { defaultProps: { tt: 'none' }, styles: { root: { minWidth: 'max-content' } } },
    Checkbox: { styles: { labelWrapper: { minWidth: 0 }, label: { overflowWrap: 'anywhere', ...ownDirection } } },
    PasswordInput: {
      defaultProps: {
        visibilityToggleFocusable: true,
        visibilityToggleButtonProps: { 'aria-label': 'Show what is typed' },
      },
    },
    TextInput: textField,
    Textarea: textField,
    Select: choices,
    MultiSelect: choices,
    Pill: { styles: { label: ownDirection } },
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
    '--mantine-color-anchor': '#bac8ff',
    '--mantine-color-error': '#ffa8a8',
  },
})
