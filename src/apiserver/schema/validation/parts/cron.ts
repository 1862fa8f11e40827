interface CronField {
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const fields: readonly CronField[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: days },
]
const descriptors = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'])

/** Why a text is not a cron schedule, with the messages of robfig/cron; undefined when it is one. */
export function cronFault(schedule: string): string | undefined {
  if (schedule.startsWith('@')) return descriptorFault(schedule)
  const parts = schedule.trim().split(/\s+/)
  if (parts.length !== 5) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`
  return parts.map((part, index) => fieldFault(part, fields[index])).find((fault) => fault !== undefined)
}

function descriptorFault(schedule: string): string | undefined {
  if (descriptors.has(schedule)) return undefined
  const every = /^@every (.+)$/.exec(schedule)?.[1]
  if (every === undefined) return `unrecognized descriptor: ${schedule}`
  return /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(every)
    ? undefined
    : `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(every)}`
}

function fieldFault(text: string, field: CronField | undefined): string | undefined {
  if (!field) return undefined
  return text
    .split(',')
    .map((range) => rangeFault(range, field))
    .find((fault) => fault !== undefined)
}

function rangeFault(text: string, field: CronField): string | undefined {
  const [range = '', step, ...rest] = text.split('/')
  const [low = '', high, ...more] = range.split('-')
  if (more.length > 0) return `too many hyphens: ${text}`
  if (rest.length > 0) return `too many slashes: ${text}`
  const isAll = low === '*' || low === '?'
  const start = isAll ? field.min : valueOf(low, field)
  const end = high !== undefined ? valueOf(high, field) : isAll || step !== undefined ? field.max : start
  const by = step === undefined ? 1 : Number(step)
  if (start === undefined)
    return `failed to parse int from ${low}: strconv.Atoi: parsing ${JSON.stringify(low)}: invalid syntax`
  if (end === undefined)
    return `failed to parse int from ${high}: strconv.Atoi: parsing ${JSON.stringify(high)}: invalid syntax`
  if (!Number.isInteger(by))
    return `failed to parse int from ${step}: strconv.Atoi: parsing ${JSON.stringify(step)}: invalid syntax`
  if (start < field.min) return `beginning of range (${start}) below minimum (${field.min}): ${text}`
  if (end > field.max) return `end of range (${end}) above maximum (${field.max}): ${text}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`
  return by === 0 ? `step of range should be a positive number: ${text}` : undefined
}

function valueOf(text: string, { names }: CronField): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const index = names?.indexOf(text.toLowerCase()) ?? -1
  return index < 0 ? undefined : names === months ? index + 1 : index
}
