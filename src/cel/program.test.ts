import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { kubernetesEnvironment } from './environments.ts'
import { CelCompileError, CelError } from './errors.ts'
import { toJson } from './json.ts'
import { CelTimestamp } from './moments.ts'
import { dynType, timestampType } from './types.ts'
import { CelDouble, CelUint } from './values.ts'
import type { CelValue } from './values.ts'

const environment = kubernetesEnvironment({ x: dynType, time: timestampType })

function evaluate(source: string, bindings: Readonly<Record<string, unknown>> = {}): CelValue {
  const program = compile(source, environment)
  if (program instanceof CelCompileError) throw program
  return program.evaluate(bindings)
}

/** The result as JSON, or the message of its error. */
function result(source: string, x?: unknown): unknown {
  const value = evaluate(source, { x })
  return value instanceof CelError ? `error: ${value.message}` : toJson(value)
}

describe('errors as values', () => {
  it.each([
    ['false && x.missing', false],
    ['x.missing && false', false],
    ['true || x.missing', true],
    ['x.missing || true', true],
    ['x.missing || false', 'error: no such key: missing'],
    ['true && x.missing', 'error: no such key: missing'],
    ['false || x.missing || 1 / 0 == 1 || true', true],
    ['[1, 0].exists(n, 1 / n == 1)', true],
    ['[0, 1].exists(n, 1 / n == 1)', true],
    ['[0, 2].exists(n, 1 / n == 1)', 'error: division by zero'],
    ['[0, 2].all(n, 1 / n == 1)', false],
    ['[0, 1].all(n, 1 / n == 1)', 'error: division by zero'],
    ['[1, 0].exists_one(n, 1 / n == 1)', 'error: division by zero'],
    ['[0].map(n, 1 / n)', 'error: division by zero'],
    ['x.flag ? 1 : 2', 'error: no such overload'],
    ['x.missing == 1', 'error: no such key: missing'],
    ['[1][1]', 'error: index out of bounds: 1'],
    ['[1][-1]', 'error: index out of bounds: -1'],
    ['x["a b"]', 'error: no such key: a b'],
    ['{"a": 1, "a": 2}', 'error: repeated key'],
    ['{1.5: 2}', 'error: unsupported key type'],
  ])('%s gives %j', (source, expected) => expect(result(source, { flag: 'true' })).toEqual(expected))

  it('a variable that was not bound is one', () => {
    expect(evaluate('x == 1')).toMatchObject({ kind: 'evaluation', message: 'no such variable: x' })
  })
})

describe('JSON in place', () => {
  it.each([
    ['x.n + 1', 4],
    ['x.n % 2', 1],
    ['type(x.n) == int && type(x.f) == double', true],
    ['x.n == 3.0 && x.n < 3.5', true],
    ['x.f * 2.0', 5],
    ['has(x.nothing) && x.nothing == null', true],
    ['has(x.absent)', false],
    ['x.list[1] + x.list.size()', 5],
    ['x.list.map(e, e * 2)', [2, 4, 6]],
    ['x.map(k, k)', ['n', 'f', 'nothing', 'list', 'big']],
    ['"n" in x && !("absent" in x)', true],
    ['x.exists(k, k == "f")', true],
    ['x.big - 1', '9007199254740992'],
    ['x.transformList(k, v, k).size()', 5],
    ['x.list == [1, 2, 3]', true],
    ['x.?absent.orValue("none")', 'none'],
  ])('%s gives %j', (source, expected) => {
    const x = { n: 3, f: 2.5, nothing: null, list: [1, 2, 3], big: 9007199254740993n }
    expect(result(source, x)).toEqual(expected)
  })

  it('is neither copied nor changed', () => {
    const x = Object.freeze({ list: Object.freeze([Object.freeze({ a: 1 })]) })
    expect(evaluate('x.list[0]', { x })).toBe(x.list[0])
    expect(result('x.list.filter(e, e.a == 1).map(e, e.a).sort().reverse() + [2]', x)).toEqual([1, 2])
  })
})

describe('64-bit integers', () => {
  it.each([
    ['9223372036854775807 + 1', 'error: integer overflow'],
    ['-9223372036854775808 - 1', 'error: integer overflow'],
    ['9007199254740993 * 1', '9007199254740993'],
    ['9223372036854775807 % 10', 7],
    ['-9223372036854775808 / -1', 'error: integer overflow'],
    ['-9223372036854775808 % -1', 'error: integer overflow'],
    ['3037000500 * 3037000500', 'error: integer overflow'],
    ['9007199254740991 + 1', '9007199254740992'],
    ['9007199254740993 == 9007199254740992', false],
    ['-7 / 2', -3],
    ['-7 % 2', -1],
    ['7u - 8u', 'error: unsigned integer overflow'],
    ['18446744073709551615u', '18446744073709551615'],
    ['int(1e19)', 'error: integer overflow'],
    ['int("9223372036854775807")', '9223372036854775807'],
    ['0 * -1 == 0', true],
    ['string(0 * -1)', '0'],
    ['1 / 0', 'error: division by zero'],
    ['{1: "a"}[dyn(1u)] + {1u: "b"}[dyn(1.0)]', 'ab'],
  ])('%s gives %j', (source, expected) => expect(result(source)).toEqual(expected))
})

describe('moments', () => {
  it.each([
    ['timestamp("2026-11-15T12:00:00.123456789Z") - timestamp("2026-11-15T12:00:00Z")', '0.123456789s'],
    ['timestamp("2026-11-15T12:00:00+02:00")', '2026-11-15T10:00:00Z'],
    ['timestamp("0001-01-01T00:00:00Z") - duration("1ns")', 'error: timestamp out of range'],
    ['timestamp("9999-12-31T23:59:59.999999999Z") + duration("1ns")', 'error: timestamp out of range'],
    ['duration("2562047h47m16.854775807s") + duration("1ns")', 'error: duration out of range'],
    ['duration("-1.5s")', '-1.5s'],
    ['duration("1h30m") == duration("90m")', true],
    ['duration("-90s").getMinutes()', -1],
    ['duration("3730s").getSeconds()', 3730],
    ['timestamp("2026-11-15T12:00:00Z").getDayOfYear()', 318],
    ['timestamp("2026-03-29T00:59:59Z").getHours("Europe/Berlin")', 1],
    ['timestamp("2026-03-29T01:00:00Z").getHours("Europe/Berlin")', 3],
    ['timestamp("2026-01-01T00:00:00Z").getFullYear("-03:30")', 2025],
    ['timestamp("2026-01-01T00:00:00Z").getHours("Nowhere/City")', 'error: unknown time zone "Nowhere/City"'],
    ['timestamp("1969-12-31T23:59:59.5Z").getMilliseconds()', 500],
    ['int(timestamp("2026-11-15T12:00:00Z"))', 1_794_744_000],
    ['string(timestamp(1794744000))', '2026-11-15T12:00:00Z'],
  ])('%s gives %j', (source, expected) => expect(result(source)).toEqual(expected))

  it('are bound from milliseconds', () => {
    const time = CelTimestamp.fromMilliseconds(1_794_744_000_123)
    expect(toJson(evaluate('time', { time }))).toBe('2026-11-15T12:00:00.123Z')
    expect(evaluate('time.getMilliseconds()', { time })).toBe(123)
  })
})

describe('texts', () => {
  it.each([
    ['"🙂a".size()', 2],
    ['"🙂a".charAt(1)', 'a'],
    ['"🙂a".substring(1)', 'a'],
    ['"🙂a🙂".lastIndexOf("🙂")', 2],
    ['"a,b,c".split(",", 2)', ['a', 'b,c']],
    ['"a,b".split(",", 0)', []],
    ['"aaa".replace("a", "b", 2)', 'bba'],
    ['"ab".replace("", "-")', '-a-b-'],
    ['"\\u0085 x\\u00a0".trim()', 'x'],
    ['"ÄbC".lowerAscii()', 'Äbc'],
    ['["a", "b"].join("-")', 'a-b'],
    ['"%d %s %.2f %x".format([1, [1, "a", {"k": null}], 1.005, 255])', '1 [1, a, {k: null}] 1.00 ff'],
    ['"%d".format(["a"])', 'error: formatting clause %d does not take type string'],
    ['"%s".format([])', 'error: index 0 out of range: not enough arguments'],
    ['"\\ue000" < "🙂"', true],
    ['string(1e21) + " " + string(0.00001) + " " + string(1.0)', '1e+21 1e-05 1'],
    ['"a\\nb".matches("^b$")', false],
  ])('%s gives %j', (source, expected) => expect(result(source)).toEqual(expected))
})

describe('toJson', () => {
  it.each<readonly [unknown, unknown]>([
    [new CelDouble(1), 1],
    [new CelUint(7n), 7],
    [9007199254740993n, '9007199254740993'],
    [Number.NaN, 'NaN'],
    [Uint8Array.of(1, 2), 'AQI='],
    [{ a: [null, true] }, { a: [null, true] }],
  ])('writes %s as %j', (value, json) => expect(toJson(value as CelValue)).toEqual(json))

  it('writes maps with any keys, types and optionals', () => {
    expect(result('{1: type(1), true: optional.none(), "s": optional.of(2)}')).toEqual({ '1': 'int', true: null, s: 2 })
  })
})
