import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { health, list, object, oneOf, optional, string, type Static } from './schema.ts'

const day = oneOf(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'])
const clockTime = { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$' }
const date = { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' }

const spec = object({
  timeZone: optional(string({ description: 'IANA time zone of the windows, such as Europe/Berlin. Default: UTC.' })),
  windows: list(
    object({
      days: list(day, { minItems: 1, description: 'Days of the week on which the window opens.' }),
      start: optional(string({ ...clockTime, description: 'Local time at which the window opens. Default: 00:00.' })),
      end: optional(
        string({
          ...clockTime,
          description: 'Local time at which the window closes; not after start: on the next day. Default: 24:00.',
        }),
      ),
    }),
    { minItems: 1, description: 'Windows in which resources may be deleted.' },
  ),
  holidays: optional(list(string(date), { description: 'Days on which no window opens, as YYYY-MM-DD.' })),
  skip: optional(
    list(
      object({
        from: string({ ...date, description: 'First day, as YYYY-MM-DD.' }),
        to: string({ ...date, description: 'Last day, as YYYY-MM-DD.' }),
      }),
      { description: 'Ranges of days on which no window opens.' },
    ),
  ),
})

const status = object(health)

/** The hours in which deletions are allowed. */
export const workSchedule = defineKind({
  ...sojournGroup,
  kind: 'WorkSchedule',
  plural: 'workschedules',
  scope: 'Cluster',
  description: 'Defines when deletions are allowed: days, hours, time zone and holidays.',
  shortNames: ['wsched'],
  categories: ['sojourn'],
  spec,
  status,
  columns: [
    { name: 'Zone', type: 'string', jsonPath: '.spec.timeZone' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type WorkSchedule = ObjectOf<typeof workSchedule>
export type WorkScheduleSpec = Static<typeof spec>
