import { DateTimePicker } from '@mantine/dates'
import dayjs from 'dayjs'
import { useId } from 'react'
import { calendarProps } from './calendar.ts'

const minuteMs = 60_000
const agos = [
  { label: '15 minutes ago', ms: 15 * minuteMs },
  { label: '1 hour ago', ms: 60 * minuteMs },
  { label: '24 hours ago', ms: 24 * 60 * minuteMs },
  { label: '7 days ago', ms: 7 * 24 * 60 * minuteMs },
]

/** Times that are asked for most, counted from now. */
const timePresets = () =>
  agos.map(({ label, ms }) => ({ label, value: dayjs().subtract(ms, 'ms').format('YYYY-MM-DD HH:mm:ss') }))

interface Props {
  label: string
  value: string | undefined
  onChange: (value: string | null) => void
}

/** A moment, from the calendar or counted from now. */
export default function TimeFilter({ label, value, onChange }: Props) {
  return (
    <DateTimePicker
      {...calendarProps(useId())}
      label={label}
      placeholder="Any time"
      valueFormat="D MMM YYYY, HH:mm"
      presets={timePresets()}
      submitButtonProps={{ 'aria-label': 'Use this time' }}
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${label}` }}
      value={value === undefined ? null : new Date(value)}
      onChange={(picked) => onChange(picked === null ? null : new Date(picked).toISOString())}
    />
  )
}
