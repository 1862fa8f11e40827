import fc from 'fast-check'
import { CelTimestamp } from '../../src/cel/moments.ts'
import { parseTimestamp, timestampText } from '../../src/cel/moment-text.ts'

/** A random condition on `time`, an instant to ask at, and a grid of instants fine enough to see its changes. */
interface RandomCondition {
  readonly source: string
  readonly now: number
  readonly tickMs: number
}

const starts = [
  '2026-11-15T12:00:00Z',
  '2026-10-25T00:10:00Z',
  '2026-03-29T00:40:00Z',
  '2026-12-31T23:59:30Z',
  '1969-12-31T23:59:59Z',
]
const scales = [1, 7, 1000, 60_000, 900_000, 3_600_000, 86_400_000]
const comparisons = ['<', '<=', '>', '>=', '==', '!=']
const zones = ['', '"Europe/Berlin"', '"America/New_York"', '"Asia/Kathmandu"', '"-03:30"', '"Australia/Lord_Howe"']
const fields: readonly (readonly [string, number])[] = [
  ['FullYear', 2027],
  ['Month', 11],
  ['DayOfYear', 365],
  ['DayOfMonth', 30],
  ['Date', 31],
  ['DayOfWeek', 6],
  ['Hours', 23],
  ['Minutes', 59],
  ['Seconds', 59],
  ['Milliseconds', 999],
]

/** Random mixes of comparisons, calendar fields, list functions, branches and errors that depend on `time`. */
export const randomCondition: fc.Arbitrary<RandomCondition> = fc
  .record({ start: fc.constantFrom(...starts), tickMs: fc.constantFrom(...scales) })
  .chain(({ start, tickMs }) => {
    const moment = parseTimestamp(start)
    const now = moment instanceof CelTimestamp ? moment.seconds * 1000 + Math.floor(moment.nanos / 1e6) : 0
    return conditionAround(now, tickMs).map((source) => ({ source, now, tickMs }))
  })

function conditionAround(now: number, tickMs: number): fc.Arbitrary<string> {
  const offset = fc.integer({ min: -40, max: 110 })
  const nanos = fc.constantFrom('', '', '000001', '999999')
  const instant = fc.tuple(offset, nanos).map(([ticks, rest]) => timestamp(now + ticks * tickMs, rest))
  const length = fc.integer({ min: -100, max: 100 }).map((ticks) => `duration("${ticks * tickMs}ms")`)
  const { moment, span } = fc.letrec<{ moment: string; span: string }>((tie) => ({
    moment: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 4, arbitrary: fc.constant('time') },
      { weight: 2, arbitrary: instant },
      { weight: 1, arbitrary: joined(tie('moment'), fc.constantFrom('+', '-'), tie('span')) },
    ),
    span: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 2, arbitrary: length },
      { weight: 3, arbitrary: joined(tie('moment'), fc.constant('-'), tie('moment')) },
      { weight: 1, arbitrary: joined(tie('span'), fc.constantFrom('+', '-'), tie('span')) },
    ),
  }))
  return conditions({ moment, span, instant, length })
}

interface Terms {
  readonly moment: fc.Arbitrary<string>
  readonly span: fc.Arbitrary<string>
  readonly instant: fc.Arbitrary<string>
  readonly length: fc.Arbitrary<string>
}

function conditions({ moment, span, instant, length }: Terms): fc.Arbitrary<string> {
  const comparison = fc.constantFrom(...comparisons)
  const atoms = [
    joined(moment, comparison, moment),
    joined(span, comparison, span),
    fc.tuple(moment, fc.constantFrom(...fields), fc.constantFrom(...zones), comparison, fc.nat()).map(calendar),
    fc
      .tuple(
        span,
        fc.constantFrom('Hours', 'Minutes', 'Seconds', 'Milliseconds'),
        comparison,
        fc.integer({ min: -5, max: 60 }),
      )
      .map(([value, unit, operator, limit]) => `${value}.get${unit}() ${operator} ${limit}`),
    fc
      .tuple(moment, fc.integer({ min: 2, max: 60 }), comparison)
      .map(([value, n, operator]) => `int(${value}) % ${n} ${operator} 1`),
    fc.tuple(moment, fc.array(instant, { maxLength: 4 })).map(([value, list]) => `${value} in [${list.join(', ')}]`),
    fc
      .tuple(fc.array(moment, { minLength: 1, maxLength: 4 }), instant, fc.constantFrom('min', 'max'))
      .map(([list, value, end]) => `[${list.join(', ')}].${end}() == ${value}`),
    fc
      .tuple(fc.array(moment, { minLength: 2, maxLength: 4 }), moment)
      .map(([list, value]) => `[${list.join(', ')}].sort_by(x, x)[0] == ${value}`),
    fc
      .tuple(fc.array(instant, { maxLength: 5 }), comparison, length, fc.constantFrom('exists', 'all', 'exists_one'))
      .map(([list, operator, value, macro]) => `[${list.join(', ')}].${macro}(x, time - x ${operator} ${value})`),
    fc
      .tuple(fc.array(instant, { maxLength: 5 }), comparison, fc.nat({ max: 3 }))
      .map(([list, operator, count]) => `size([${list.join(', ')}].filter(x, time ${operator} x)) == ${count}`),
    fc.tuple(moment, comparison, moment).map(([a, operator, b]) => `[true, false][${a} ${operator} ${b} ? 0 : 2]`),
    fc.tuple(moment, moment).map(([a, b]) => `optional.ofNonZeroValue(${a} - ${b}).hasValue()`),
    fc.constantFrom('true', 'false', '1 / 0 == 1'),
  ]
  return fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      { weight: 5, arbitrary: fc.oneof(...atoms).map((atom) => `(${atom})`) },
      { weight: 1, arbitrary: tie('condition').map((inner) => `!(${inner})`) },
      { weight: 3, arbitrary: joined(tie('condition'), fc.constantFrom('&&', '||', '==', '!='), tie('condition')) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(tie('condition'), tie('condition'), tie('condition'))
          .map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
      },
    ),
  })).condition
}

function calendar([value, [field, most], zone, operator, seed]: readonly [
  string,
  readonly [string, number],
  string,
  string,
  number,
]): string {
  const limit = field === 'FullYear' ? most - (seed % 3) : seed % (most + 1)
  return `${value}.get${field}(${zone}) ${operator} ${limit}`
}

function joined(
  a: fc.Arbitrary<string>,
  operator: fc.Arbitrary<string>,
  b: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  return fc.tuple(a, operator, b).map(([left, between, right]) => `(${left} ${between} ${right})`)
}

function timestamp(ms: number, nanos: string): string {
  const { seconds, nanos: whole } = CelTimestamp.fromMilliseconds(ms)
  return `timestamp("${timestampText(new CelTimestamp(seconds, whole + Number(nanos)))}")`
}
