import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { cleanerEnvironment } from './environments.ts'
import { CelCompileError, CelError } from './errors.ts'
import { Budget } from './frame.ts'
import { hostileData, hostiles } from '../../test/cel/hostile.ts'
import type { Program } from './program.ts'
import { dynType } from './types.ts'

const data = hostileData()
const environment = cleanerEnvironment(Object.fromEntries(Object.keys(data).map((name) => [name, dynType])))

function compiled(source: string) {
  const program = compile(source, environment)
  if (program instanceof CelCompileError) throw program
  return program
}

function issue(source: string): string {
  const program = compile(source, environment)
  return program instanceof CelCompileError ? program.message : 'compiles'
}

describe('the cost budget', () => {
  // With a hundredth of the default the whole corpus takes no time; a function that forgets to pay would not end.
  it.each(hostiles)('stops $name', ({ source }) => {
    const budget = new Budget(10_000)
    const value = compiled(source).evaluate(data, { budget })
    expect(value).toMatchObject({ kind: 'budget', message: 'cost budget exceeded' })
  })

  it('is not absorbed by what absorbs errors', () => {
    const value = compiled('true || list.all(x, true) || true').evaluate(data, { budget: 10 })
    expect(value).toBe(true)
    const spent = compiled('list.all(x, true) || true').evaluate(data, { budget: 10 })
    expect(spent).toMatchObject({ kind: 'budget' })
  })

  it('is shared by the evaluations it is given to', () => {
    const budget = new Budget(50_000)
    const program = compiled('list.all(x, true)')
    expect(program.evaluate(data, { budget })).toBe(true)
    expect(program.evaluate(data, { budget })).toBe(true)
    expect(program.evaluate(data, { budget })).toBeInstanceOf(CelError)
  })

  it('lets the same work through when it is larger', () => {
    expect(compiled('list.all(x, list.size() > 0)').evaluate(data, { budget: 10_000_000 })).toBe(true)
  })
})

describe('the cost of long texts', () => {
  // Products of lengths beyond 32 bits were negative: each search gave budget back.
  it.each([
    ['of a text', 'text.contains(part)'],
    ['and replacing', "text.replace('a', part) == ''"],
    ['with a pattern', 'text.matches(pattern)'],
  ])('139: is never given back: searching %s', (_, source) => {
    const texts = { text: 'a'.repeat(1_000_000), part: 'b'.repeat(90_000), pattern: '(b|c)'.repeat(600) }
    const environment = cleanerEnvironment({ text: dynType, part: dynType, pattern: dynType })
    const program = compile(source, environment) as Program
    const budget = new Budget(10_000_000)
    expect(program.evaluate(texts, { budget })).toMatchObject({ kind: 'budget' })
    expect(budget.remaining).toBeLessThan(0)
  })

  it.each([
    ['texts', `'${'%s'.repeat(200)}'.format([${'text, '.repeat(200)}])`],
    ['lists of lists', `cel.bind(some, [${'text, '.repeat(40)}], '%s'.format([[${'some, '.repeat(40)}]]))`],
    ['maps', `cel.bind(some, {'a': [${'text, '.repeat(40)}]}, '%s'.format([[${'some, '.repeat(40)}]]))`],
  ])('139: is paid before a formatted text of %s is built', (_, source) => {
    const budget = new Budget(100_000)
    expect(compiled(`${source} == ''`).evaluate(data, { budget })).toMatchObject({ kind: 'budget' })
    expect(budget.remaining).toBeGreaterThan(-50_000)
  })

  it('139: is paid for each match, which may search the rest of the text in vain', () => {
    const source = "text.substring(0, 10000).findAll('a+b|a').size() > 0"
    expect(compiled(source).evaluate(data)).toMatchObject({ kind: 'budget' })
    expect(compiled("'in 10 of 300 cases'.findAll('[0-9]+').size() == 2").evaluate({}, { budget: 10_000 })).toBe(true)
  })
})

describe('the limits on source', () => {
  it.each([
    ['deep brackets', `${'('.repeat(1000)}1${')'.repeat(1000)}`, '1:101: expression nests deeper than 100'],
    ['deep lists', `${'['.repeat(1000)}${']'.repeat(1000)}`, '1:101: expression nests deeper than 100'],
    ['deep branches', `${'true ? 1 : '.repeat(500)}1`, '1:1101: expression nests deeper than 100'],
    ['long chains', `1${' + 1'.repeat(600)}`, '1:1999: expression chains more than 500 operations'],
    ['long selections', `map${'.a'.repeat(600)}`, '1:1002: expression chains more than 500 operations'],
    ['many negations', `${'!'.repeat(600)}true`, '1:101: expression chains more than 500 operations'],
    ['long sources', `"${'x'.repeat(17_000)}"`, '1:1: expression is longer than 16384 bytes'],
    [
      'heavy patterns',
      Array.from({ length: 60 }, (_, n) => `'x'.matches('a{1,900}${n}')`).join(' || '),
      'too much work',
    ],
  ])('refuse %s with a place', (_, source, message) => expect(issue(source)).toContain(message))

  it('count nodes', () => {
    const small = cleanerEnvironment({})
    const program = compile('[1, 2, 3, 4, 5]', { ...small, limits: { ...small.limits, nodes: 5 } })
    expect(program).toMatchObject({ message: '1:1: expression has more than 5 nodes' })
  })
})

describe('hostile data', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('has no field %s by inheritance', (field) => {
    const program = compiled(`map.${field}`)
    expect(program.evaluate({ map: {} })).toMatchObject({ message: `no such key: ${field}` })
    expect(compiled(`has(map.${field}) || '${field}' in map`).evaluate({ map: {} })).toBe(false)
  })

  it('may have such fields of its own', () => {
    const own = JSON.parse('{"map": {"__proto__": 1, "constructor": 2, "length": 3}}') as Record<string, unknown>
    expect(compiled('map.__proto__ + map.constructor + map.length').evaluate(own)).toBe(6)
  })

  it.each([
    ['list.length', { list: [1] }],
    ['list["0"]', { list: [1] }],
    ['text.length', { text: 'abc' }],
    ['map.value', { map: 1 }],
  ])('does not let %s reach into JavaScript', (source, bindings) => {
    expect(compiled(source).evaluate(bindings)).toMatchObject({ message: 'no such overload' })
  })

  it('may be nested without end', () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(compiled('list == text').evaluate({ list: deep, text: deep })).toMatchObject({ kind: 'internal' })
  })
})
