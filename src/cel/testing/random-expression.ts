import fc from 'fast-check'

const variables = {
  int: ['i', 'j', '0', '1', '-7', '3', '9223372036854775807', '-9223372036854775808', '9007199254740993'],
  uint: ['u', '0u', '5u', '18446744073709551615u'],
  double: ['d', '0.0', '-1.5', '2.0', '1e30', '0.1', '9007199254740992.0'],
  string: ['s', "''", "'a'", "'abc'", "'ünïcödé 🙂'", "'12'", "'-1.5'", "'true'", "'2026-11-15T12:00:00Z'", "'90m'"],
  bool: ['b', 'true', 'false'],
  bytes: ["b''", "b'abc'", "b'\\xff\\x00'", "bytes('é')"],
  list: ['l', '[]', '[1, 2, 3]', "['a', 'b']", '[1, 1u, 1.0]', '[[1], [2]]', '[true, null]'],
  map: ['m', '{}', "{'a': 1, 'b': 2}", '{1: 2, 2u: 3}', "{true: 'x'}", "{'n': null}"],
  timestamp: ["timestamp('2026-11-15T12:00:00Z')", "timestamp('1969-12-31T23:59:59.5Z')", 'timestamp(0)'],
  duration: ["duration('90m')", "duration('-1.5s')", "duration('0s')", "duration('2562047h')"],
} as const

/** The variables random expressions mention, as JSON with the few values JSON has no form for left out. */
export const randomVariables = {
  i: 42,
  j: -3,
  d: 2.5,
  s: 'hello',
  b: true,
  l: [1, 2, 3, 4],
  m: { a: 1, c: { d: 'e' } },
}

type Kind = keyof typeof variables

const kinds = Object.keys(variables) as Kind[]
const calendarFields = [
  'FullYear',
  'Month',
  'DayOfYear',
  'DayOfMonth',
  'Date',
  'DayOfWeek',
  'Hours',
  'Minutes',
  'Seconds',
]

/**
 * Random expressions of the language itself: every operator, macro and standard function, well typed or not.
 * Left out is where the other implementation is known to differ from the definition: ints as timestamps and durations,
 * texts that are no numbers as doubles, texts of doubles and moments, empty durations, empty
 * texts as ints, division of uints beyond 63 bits, doubled minus signs, doubles as keys.
 */
export const randomExpression: fc.Arbitrary<string> = fc.letrec<Record<Kind | 'any', string>>((tie) => {
  const form = (text: string, ...parts: (Kind | 'any')[]): fc.Arbitrary<string> =>
    fc.tuple(...parts.map((part) => tie(part))).map((made) => {
      let next = 0
      return text.replaceAll('_', () => made[next++] ?? '_')
    })
  const of = (kind: Kind, ...forms: fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
    fc.oneof({ maxDepth: 4 }, fc.constantFrom(...variables[kind]), ...forms)
  const infix = (kind: Kind, operators: readonly string[]): fc.Arbitrary<string>[] =>
    operators.map((operator) => form(`(_ ${operator} _)`, kind, kind))
  const orders = ['==', '!=', '<', '<=', '>', '>=']
  return {
    any: fc.oneof({ maxDepth: 4 }, ...kinds.map((kind) => tie(kind))),
    int: of(
      'int',
      ...infix('int', ['+', '-', '*', '/', '%']),
      form('(-(_))', 'uint'),
      form('(-i - _)', 'int'),
      form('size(_)', 'any'),
      form('_.size()', 'list'),
      ...(['int', 'uint', 'double', 'bool', 'timestamp', 'list'] as const).map((kind) => form('int(_)', kind)),
      form("int('1' + _)", 'string'),
      form('(_ ? _ : _)', 'bool', 'int', 'int'),
      ...calendarFields.map((field) => form(`_.get${field}()`, 'timestamp')),
      form("_.getHours('America/New_York')", 'timestamp'),
      form('_.getMinutes()', 'duration'),
    ),
    uint: of('uint', ...infix('uint', ['+', '-', '*']), form('uint(_)', 'int'), form('uint(_)', 'double')),
    double: of(
      'double',
      ...infix('double', ['+', '-', '*', '/']),
      form('(-_)', 'double'),
      form('double(i + _)', 'int'),
      form('double(_)', 'uint'),
      form('double(_)', 'map'),
    ),
    string: of(
      'string',
      ...infix('string', ['+']),
      ...(['int', 'uint', 'string', 'bool', 'bytes', 'map'] as const).map((kind) => form('string(_)', kind)),
    ),
    bool: of(
      'bool',
      ...kinds.flatMap((kind) => infix(kind, orders)),
      ...orders.map((operator) => form(`(_ ${operator} _)`, 'any', 'any')),
      form('(_ && _)', 'bool', 'any'),
      form('(_ || _)', 'any', 'bool'),
      form('!_', 'bool'),
      form('(_ in _)', 'any', 'list'),
      form('(_[_] == _)', 'list', 'int', 'any'),
      form('(_[_] == _)', 'list', 'string', 'any'),
      form('(_.a == _)', 'map', 'any'),
      form("(_['a'] == _)", 'map', 'any'),
      form('((_ ? _ : _) == _)', 'bool', 'any', 'any', 'any'),
      form('(_ in _)', 'int', 'map'),
      form('_.exists(x, x == _)', 'list', 'any'),
      form('_.all(x, x < _)', 'list', 'any'),
      form('_.exists_one(x, x in _)', 'map', 'list'),
      form('_.exists(x, _)', 'any', 'any'),
      form('_.contains(_)', 'string', 'string'),
      form('_.startsWith(_)', 'string', 'string'),
      form('_.endsWith(_)', 'string', 'any'),
      form("_.matches('^[a-z]+$')", 'string'),
      form('bool(_)', 'any'),
      form('(type(_) == type(_))', 'any', 'any'),
    ),
    bytes: of('bytes', ...infix('bytes', ['+']), form('bytes(_)', 'any')),
    list: of(
      'list',
      ...infix('list', ['+']),
      form('[_, _]', 'any', 'any'),
      form('_.map(x, x + _)', 'list', 'any'),
      form('_.filter(x, x == _)', 'list', 'any'),
      form('_.map(k, k)', 'map'),
    ),
    map: of(
      'map',
      form("{'a': _, 'z': _}", 'any', 'any'),
      form('{_: _}', 'int', 'any'),
      form('{_: _, _: _}', 'string', 'any', 'bool', 'any'),
    ),
    timestamp: of(
      'timestamp',
      form('(_ + _)', 'timestamp', 'duration'),
      form('(_ - _)', 'timestamp', 'duration'),
      form("timestamp(_ + 'Z')", 'string'),
      form('timestamp(_)', 'timestamp'),
    ),
    duration: of(
      'duration',
      ...infix('duration', ['+', '-']),
      form('(_ - _)', 'timestamp', 'timestamp'),
      form("duration(string(_) + 's')", 'int'),
    ),
  }
}).any
