import { defineOwnKind, type ObjectOf } from './define-kind.ts'
import { health, list, object, objects, oneOf, string, type Static } from './schema.ts'

const day = oneOf(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'])
const clockTime = { pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$' }
const date = { pattern: '^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$' }

const spec = object({
  'timeZone?': string('IANA time zone of the windows, such as Europe/Berlin. Default: UTC.'),
  windows: objects(
    'Windows in which resources may be deleted.',
    {
      days: list('Days of the week on which the window opens.', day, { minItems: 1 }),
      'start?': string('Local time at which the window opens. Default: 00:00.', { ...clockTime }),
      'end?': string('Local time at which the window closes; not after start: on the next day. Default: 24:00.', {
        ...clockTime,
      }),
    },
    { minItems: 1 },
  ),
  'holidays?': list('Days on which no window opens, as YYYY-MM-DD.', string(date)),
  'skip?': objects('Ranges of days on which no window opens.', {
    from: string('First day, as YYYY-MM-DD.', { ...date }),
    to: string('Last day, as YYYY-MM-DD.', { ...date }),
  }),
})

const status = object(health)

/** The hours in which deletions are allowed. */
export const workSchedule = defineOwnKind({
  kind: 'WorkSchedule',
  scope: 'Cluster',
  description: 'Defines when deletions are allowed: days, hours, time zone and holidays.',
  shortNames: ['wsched'],
  spec,
  status,
  columns: [
    { name: 'Zone', type: 'string', jsonPath: '.spec.timeZone' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
})

export type WorkSchedule = ObjectOf<typeof workSchedule>
export type WorkScheduleSpec = Static<typeof spec>
