import { defineKind, type ObjectOf } from './define-kind.ts'
import { sojournGroup } from './group.ts'
import { conditions, list, object, oneOf, optional, string, type Static } from './schema.ts'

const day = oneOf(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'])
const clockTime = string({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$' })
const date = string({ pattern: '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' })

const spec = object({
  timeZone: optional(string({ description: 'An IANA zone such as Europe/Berlin. Defaults to UTC.' })),
  windows: list(
    object({
      days: list(day, { minItems: 1, description: 'The days on which the window opens.' }),
      start: optional(string({ ...clockTime, description: 'When it opens, by the zone’s clocks. Defaults to 00:00.' })),
      end: optional(
        string({
          ...clockTime,
          description: 'When it closes; at or before start means on the next day. Defaults to 24:00.',
        }),
      ),
    }),
    { minItems: 1, description: 'When work may happen.' },
  ),
  holidays: optional(list(date, { description: 'Days on which no window opens.' })),
  skip: optional(
    list(object({ from: date, to: date }), { description: 'Ranges of days, both included, on which no window opens.' }),
  ),
})

const status = object({ conditions: optional(conditions()) })

/** The hours in which destructive work may happen. */
export const workSchedule = defineKind({
  ...sojournGroup,
  kind: 'WorkSchedule',
  plural: 'workschedules',
  scope: 'Cluster',
  description: 'Days, hours, time zone and holidays in which destructive work may happen.',
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
