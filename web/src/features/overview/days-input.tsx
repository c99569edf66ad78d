import { DatePickerInput } from '@mantine/dates'
import dayjs from 'dayjs'
import { useId, useState } from 'react'
import { calendarProps } from '../../shared/calendar.ts'
import type { OverviewSearch } from './range.ts'

interface Props {
  search: OverviewSearch
  onChange: (search: OverviewSearch) => void
}

/** A range of whole days. */
export default function DaysInput({ search, onChange }: Props) {
  const [days, setDays] = useState<[string | null, string | null]>([
    search.since === undefined ? null : dayjs(search.since).format('YYYY-MM-DD'),
    search.until === undefined ? null : dayjs(search.until).subtract(1, 'ms').format('YYYY-MM-DD'),
  ])
  const chooseDays = ([first, last]: [string | null, string | null]): void => {
    setDays([first, last])
    if (first === null || last === null) return
    const until = dayjs(last).add(1, 'day')
    onChange({ ...search, range: 'custom', since: dayjs(first).toISOString(), until: until.toISOString() })
  }
  return (
    <DatePickerInput
      {...calendarProps(useId())}
      type="range"
      placeholder="First and last day"
      valueFormat="D MMM YYYY"
      value={days}
      onChange={chooseDays}
      w={240}
      maxDate={new Date()}
    />
  )
}
