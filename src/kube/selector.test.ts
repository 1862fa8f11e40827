import { describe, expect, it } from 'vitest'
import { formatSelector, matches, parseFieldSelector, parseLabelSelector, requirementsOf } from './selector.ts'

describe('label selectors', () => {
  it.each([
    ['a=b', { a: 'b' }, true],
    ['a==b', { a: 'c' }, false],
    ['a!=b', {}, true],
    ['a in (b,c)', { a: 'c' }, true],
    ['a notin (b,c)', { a: 'd' }, true],
    ['a notin (b)', {}, true],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['a=b,c', { a: 'b' }, false],
    ['', { a: 'b' }, true],
    ['example.com/a=b', { 'example.com/a': 'b' }, true],
    ['constructor', {}, false],
    ['a>1', { a: '2' }, true],
    ['a>2', { a: '2' }, false],
    ['a<10', { a: '9' }, true],
    ['a>1', { a: 'x' }, false],
    ['a>1', {}, false],
    ['a in (,b)', { a: '' }, true],
    ['a in ()', { a: '' }, true],
    ['in in (in)', { in: 'in' }, true],
    ['a =b , c', { a: 'b', c: '' }, true],
  ])('%j on %j is %j', (text, labels, expected) =>
    expect(matches(parseLabelSelector(text), labels as Record<string, string>)).toBe(expected),
  )

  it.each(['a=b=c', 'a in b', '=b', 'a,,b', 'a b', '!!a', 'a in (b', `${'x'.repeat(64)}=b`])(
    'refuses %j as a bad request',
    (text) => expect(() => parseLabelSelector(text)).toThrow(expect.objectContaining({ reason: 'BadRequest' })),
  )

  it('reads a spec and writes it back for the wire', () => {
    const requirements = requirementsOf({
      matchLabels: { app: 'x' },
      matchExpressions: [
        { key: 'tier', operator: 'NotIn', values: ['a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
      ],
    })
    expect(formatSelector(requirements)).toBe('app=x,tier notin (a,b),!old')
    expect(parseLabelSelector(formatSelector(requirements))).toEqual(requirements)
  })

  it.each([
    { key: 'a', operator: 'In', values: [] },
    { key: 'a', operator: 'Exists', values: ['x'] },
    { key: 'a', operator: 'Like', values: ['x'] },
  ])('refuses the expression %j', (expression) =>
    expect(() => requirementsOf({ matchExpressions: [expression] })).toThrow(/operator/),
  )
})

describe('field selectors', () => {
  it('knows equality and its opposite', () => {
    const requirements = parseFieldSelector('metadata.name=x,status.phase!=Running')
    expect(matches(requirements, { 'metadata.name': 'x', 'status.phase': 'Failed' })).toBe(true)
    expect(matches(requirements, { 'metadata.name': 'x', 'status.phase': 'Running' })).toBe(false)
  })

  it('reads escaped separators as part of a value', () => {
    const [requirement] = parseFieldSelector(String.raw`a=b\,c\=d\\`)
    expect(requirement).toEqual({ key: 'a', operator: 'In', values: ['b,c=d\\'] })
  })

  it.each([
    ['metadata.name', "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
    ['a=b=c', 'invalid field selector: unescaped character in value: 61'],
    [String.raw`a=\x`, String.raw`invalid field selector: invalid escape sequence: \x`],
    ['a=\\', 'invalid field selector: invalid escape sequence: \\'],
  ])('refuses %j in the words of the API', (text, words) => expect(() => parseFieldSelector(text)).toThrow(words))

  it('asks for nothing where neither field nor value is named', () => expect(parseFieldSelector('=,!=')).toEqual([]))
})
