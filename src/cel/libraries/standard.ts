import { calendarFields, type CalendarField } from '../calendar-fields.ts'
import { traceField, traceUnits } from '../calendar-trace.ts'
import * as conversions from '../conversions.ts'
import { CelError, noSuchOverload } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { literalOverload, overload, type Library, type Overload } from '../functions.ts'
import { sizeOf, type AnyMap } from '../maps.ts'
import { durationOfNanoseconds, timestampOf, type CelDuration, type CelTimestamp } from '../moments.ts'
import { parseDuration, parseTimestamp } from '../moment-text.ts'
import { toDouble, toInt, toUint, type CelInt } from '../numbers.ts'
import { checkPattern, isFound } from '../regex.ts'
import { lengthOf } from '../text.ts'
import { zoneOffset } from '../time-zone.ts'
import { typeNameOf } from '../type-of.ts'
import * as types from '../types.ts'
import { CelType, type CelUint, type CelValue } from '../values.ts'

const sizes = ['size', 'member'].flatMap((form) => {
  const signature = (type: string): string => (form === 'size' ? `size(${type}) -> int` : `${type}.size() -> int`)
  return [
    overload(signature('string'), (frame, text: string) => {
      frame.chargeText(text.length * 2)
      return lengthOf(text)
    }),
    overload(signature('bytes'), (_frame, bytes: Uint8Array) => bytes.length),
    overload(signature('list(A)'), (_frame, list: readonly CelValue[]) => list.length),
    overload(signature('map(A, B)'), (frame, map: AnyMap) => {
      const size = sizeOf(map)
      frame.charge(size * 3)
      return size
    }),
  ]
})

const texts: readonly Overload[] = [
  overload('string.contains(string) -> bool', (frame, text: string, part: string) => {
    frame.chargeSearch(text, part)
    return text.includes(part)
  }),
  overload('string.startsWith(string) -> bool', (_frame, text: string, part: string) => text.startsWith(part)),
  overload('string.endsWith(string) -> bool', (_frame, text: string, part: string) => text.endsWith(part)),
  { ...overload('string.matches(string) -> bool', isFound), checkLiterals: checkPattern },
  { ...overload('matches(string, string) -> bool', isFound), checkLiterals: checkPattern },
]

const converters: readonly Overload[] = [
  overload('type(A) -> type(A)', (_frame, value: CelValue) => new CelType(typeNameOf(value))),
  overload('dyn(A) -> dyn', (_frame, value: CelValue) => value),
  overload('int(int) -> int', (_frame, value: CelInt) => value),
  overload('int(uint) -> int', (_frame, { value }: CelUint) => toInt(value)),
  overload('int(double) -> int', (_frame, value: number) => conversions.intFromDouble(value)),
  overload('int(string) -> int', (_frame, text: string) => conversions.intFromText(text)),
  overload('int(timestamp) -> int', conversions.intFromTimestamp),
  overload('int(duration) -> int', conversions.intFromDuration),
  overload('uint(uint) -> uint', (_frame, value: CelUint) => value),
  overload('uint(int) -> uint', (_frame, value: CelInt) => toUint(BigInt(value))),
  overload('uint(double) -> uint', (_frame, value: number) => conversions.uintFromDouble(value)),
  overload('uint(string) -> uint', (_frame, text: string) => conversions.uintFromText(text)),
  overload('double(double) -> double', (_frame, value: number) => value),
  overload('double(int) -> double', (_frame, value: CelInt) => toDouble(Number(value))),
  overload('double(uint) -> double', (_frame, { value }: CelUint) => toDouble(Number(value))),
  overload('double(string) -> double', (_frame, text: string) => conversions.doubleFromText(text)),
  overload('bool(bool) -> bool', (_frame, value: boolean) => value),
  overload('bool(string) -> bool', (_frame, text: string) => conversions.boolFromText(text)),
  overload('bytes(bytes) -> bytes', (_frame, bytes: Uint8Array) => bytes),
  overload('bytes(string) -> bytes', conversions.bytesFromText),
  ...['string', 'bool', 'int', 'uint', 'double', 'bytes', 'timestamp', 'duration'].map((type) =>
    overload(
      `string(${type}) -> string`,
      (frame, value: CelValue) => conversions.textOf(frame, value) ?? noSuchOverload,
    ),
  ),
  overload('timestamp(timestamp) -> timestamp', (_frame, value: CelTimestamp) => value),
  overload('timestamp(int) -> timestamp', (_frame, value: CelInt) => timestampOf(Number(value), 0)),
  literalOverload('timestamp(string) -> timestamp', (text: string) => parseTimestamp(text)),
  overload('duration(duration) -> duration', (_frame, value: CelDuration) => value),
  overload('duration(int) -> duration', (_frame, value: CelInt) => durationOfNanoseconds(BigInt(value))),
  literalOverload('duration(string) -> duration', (text: string) => parseDuration(text)),
]

const calendar = (Object.keys(calendarFields) as CalendarField[]).flatMap((field): Overload[] => [
  overload(`timestamp.get${field}() -> int`, (frame, moment: CelTimestamp) => read(frame, field, moment, 'UTC')),
  overload(`timestamp.get${field}(string) -> int`, (frame, moment: CelTimestamp, zone: string) =>
    read(frame, field, moment, zone),
  ),
])

function read(frame: Frame, field: CalendarField, moment: CelTimestamp, zone: string): CelValue {
  const offset = zoneOffset(frame, zone, moment.seconds)
  if (offset instanceof CelError) return offset
  if (frame.trace && moment.rate !== 0) traceField(frame, field, moment, zone)
  return calendarFields[field].read(moment.seconds + offset, moment.nanos)
}

const units = { Hours: 3_600_000_000_000n, Minutes: 60_000_000_000n, Seconds: 1_000_000_000n } as const

const spans: readonly Overload[] = [
  ...Object.entries(units).map(([name, unit]) =>
    overload(`duration.get${name}() -> int`, (frame, span: CelDuration) => {
      if (frame.trace && span.rate !== 0) traceUnits(frame.trace, span, unit)
      return Number(span.nanoseconds / unit)
    }),
  ),
  overload('duration.getMilliseconds() -> int', (frame, span: CelDuration) => {
    if (frame.trace && span.rate !== 0) traceUnits(frame.trace, span, 1_000_000n)
    return Number((span.nanoseconds % 1_000_000_000n) / 1_000_000n)
  }),
]

/** The functions and types of the language definition. */
export const standardLibrary: Library = {
  name: 'standard',
  overloads: [...sizes, ...texts, ...converters, ...calendar, ...spans],
  types: [
    types.boolType,
    types.intType,
    types.uintType,
    types.doubleType,
    types.stringType,
    types.bytesType,
    types.nullType,
    types.timestampType,
    types.durationType,
    types.listType(types.dynType),
    types.mapType(types.dynType, types.dynType),
    types.typeType(types.dynType),
  ],
}
