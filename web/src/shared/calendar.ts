import '@mantine/dates/styles.layer.css'
import './calendar.css'

/** What calendars need so that everybody can use them.
 *  @param id  of the field, whose name the calendar has, too */
export const calendarProps = (id: string) => ({
  id,
  popoverProps: { id, returnFocus: true },
  classNames: { day: 'calendar-day', datePickerRoot: 'calendar-with-presets' },
  ariaLabels: {
    nextMonth: 'Next month',
    previousMonth: 'Previous month',
    nextYear: 'Next year',
    previousYear: 'Previous year',
    nextDecade: 'Next decade',
    previousDecade: 'Previous decade',
  },
})
