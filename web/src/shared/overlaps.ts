/** How long what was replaced may go on counting, in seconds, as choices. */
export const overlaps = [
  { value: '0', label: 'No time: it stops at once' },
  { value: '3600', label: 'One hour' },
  { value: '86400', label: 'One day' },
  { value: '604800', label: 'One week' },
]
