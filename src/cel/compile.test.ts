import { describe, expect, it } from 'vitest'
import { compile } from './compile.ts'
import { kubernetesEnvironment } from './environments.ts'
import { CelCompileError } from './errors.ts'
import { intType, listType, mapType, objectType, dynType, stringType, timestampType, typeText } from './types.ts'

const environment = kubernetesEnvironment({
  n: intType,
  s: stringType,
  t: timestampType,
  x: dynType,
  names: listType(stringType),
  ages: mapType(stringType, intType),
  pod: objectType('pod', { name: stringType, ports: listType(objectType('port', { number: intType })) }),
})

/** The result's type, or every complaint with its place. */
function outcome(source: string): string {
  const program = compile(source, environment)
  return program instanceof CelCompileError ? program.message : typeText(program.type)
}

describe('a compiled expression', () => {
  it.each([
    ['n + 1', 'int'],
    ['x + 1', 'int'],
    ['x.y.z', 'dyn'],
    ['t - t', 'duration'],
    ['t - duration("1h")', 'timestamp'],
    ['names[0] + s', 'string'],
    ['names.map(e, e.size())', 'list(int)'],
    ['names.filter(e, e != "")', 'list(string)'],
    ['ages.map(k, ages[k] * 2)', 'list(int)'],
    ['ages.transformMap(k, v, string(v))', 'map(string, string)'],
    ['pod.ports.exists(p, p.number == 80)', 'bool'],
    ['pod.?name', 'optional_type(string)'],
    ['pod.?name.orValue("none")', 'string'],
    ['ages[?"x"].optMap(v, v + 1)', 'optional_type(int)'],
    ['[1, "a"]', 'list(dyn)'],
    ['{"a": []}', 'map(string, list(dyn))'],
    ['n > 0 ? "a" : s', 'string'],
    ['cel.bind(y, n * 2, [y])', 'list(int)'],
    ['type(n)', 'type(int)'],
    ['1 < 1.5', 'bool'],
    ['s.split(",")', 'list(string)'],
    ['null', 'null'],
  ])('%s is of type %s', (source, type) => expect(outcome(source)).toBe(type))

  it.each([
    ['n +', '1:4: unexpected end of expression'],
    ['(n', "1:3: expected ')', found end of expression"],
    ['n n', "1:3: unexpected 'n'"],
    ['"abc', '1:1: unterminated string'],
    ['"a\nb"', '1:3: line break in string'],
    ["'\\q'", '1:2: invalid escape \\q'],
    ["'\\ud800'", '1:2: invalid Unicode code point'],
    ['n # 1', '1:3: unexpected character "#"'],
    ['99999999999999999999', '1:1: integer literal out of range'],
    ['namespace == 1', "1:1: 'namespace' is a reserved word"],
    ['pod.in', "1:5: unexpected 'in'"],
    ['x{a: 1}', '1:2: message construction is not supported'],
    ['has(n)', '1:4: has() needs a field selection'],
    ['names.all(1, true)', '1:11: all() needs a simple name as its variable'],
    ['names.all(a, a, true)', '1:11: all() needs different variables'],
    ['s.f(1,)', "1:7: unexpected ')'"],
    ['n == 1 &&\n  y == 2', "2:3: undeclared reference to 'y' (in container '')"],
    ['nosuch(n)', "1:7: undeclared reference to 'nosuch' (in container '')"],
    ['n + "a"', "1:3: found no matching overload for '_+_' applied to '(int, string)'"],
    ['s.split(1)', "1:8: found no matching overload for 'split' applied to 'string.(int)'"],
    ['size(n)', "1:5: found no matching overload for 'size' applied to '(int)'"],
    ['!n', "1:1: found no matching overload for '!_' applied to '(int)'"],
    ['n && true', "1:1: expected type 'bool' but found 'int'"],
    ['n ? 1 : 2', "1:1: expected type 'bool' but found 'int'"],
    ['true ? 1 : "a"', "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
    ['n.field', "1:2: type 'int' does not support field selection"],
    ['pod.nam', "1:4: undefined field 'nam'"],
    ['pod.ports[0].numbr', "1:13: undefined field 'numbr'"],
    ['pod["name"]', "1:4: found no matching overload for '_[_]' applied to '(pod, string)'"],
    ['names["a"]', "1:6: found no matching overload for '_[_]' applied to '(list(string), string)'"],
    ['n.all(e, true)', "1:1: expression of type 'int' cannot be the range of a comprehension"],
    ['duration("1y")', '1:9: invalid duration: "1y"'],
    ['t > timestamp("2026-02-30T00:00:00Z")', '1:14: invalid timestamp: "2026-02-30T00:00:00Z"'],
    ['t == timestamp("2026-01-01 00:00:00Z")', '1:15: invalid timestamp: "2026-01-01 00:00:00Z"'],
  ])('%j is refused: %s', (source, message) => expect(outcome(source)).toBe(message))

  it('reports everything that is wrong, not only the first', () => {
    expect(outcome('a + b')).toBe(
      "1:1: undeclared reference to 'a' (in container '')\n1:5: undeclared reference to 'b' (in container '')",
    )
  })
})
