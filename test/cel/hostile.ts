/** An expression that tries to take all time or memory, and what it may look at. */
interface Hostile {
  readonly name: string
  readonly source: string
}

const ten = '[0,1,2,3,4,5,6,7,8,9]'

/** The variables of the hostile expressions: nothing a stored object could not hold. */
export function hostileData(): Record<string, unknown> {
  const long = 'a'.repeat(100_000)
  return {
    text: long,
    dashes: '-'.repeat(100_000),
    list: Array.from({ length: 20_000 }, (_, index) => index),
    words: Array.from({ length: 5000 }, (_, index) => `word-${index}`),
    objects: Array.from({ length: 5000 }, (_, index) => ({ name: `n${index}`, at: '2026-11-15T00:00:00.123456Z' })),
    map: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, index])),
  }
}

function nested(macro: string, depth: number): string {
  const inner = (level: number): string =>
    level === depth ? 'true' : `${ten}.${macro}(v${level}, ${inner(level + 1)})`
  return inner(0)
}

function doubled(start: string, times: number): string {
  const inner = (level: number): string =>
    level === times ? `v${times}.size() > 0` : `cel.bind(v${level + 1}, v${level} + v${level}, ${inner(level + 1)})`
  return `cel.bind(v0, ${start}, ${inner(0)})`
}

const million = 'lists.range(900).all(i, lists.range(900).all(j, '

/** Every way known to us of asking for too much. */
export const hostiles: readonly Hostile[] = [
  { name: 'eight nested all over ten', source: nested('all', 8) },
  { name: 'eight nested map over ten', source: `size(${nested('map', 8).replace('true', '1')}) > 0` },
  { name: 'strings doubled 24 times', source: doubled('"abcdefghij"', 24) },
  { name: 'bytes doubled 24 times', source: doubled('b"abcdefghij"', 24) },
  { name: 'lists doubled 24 times', source: doubled('[1, 2, 3]', 24) },
  {
    name: 'long body in a long loop',
    source: `list.all(x, ${Array.from({ length: 900 }, () => 'x >= 0').join(' && ')})`,
  },
  { name: 'map literals in a loop', source: `${million}{'a': i, 'b': j, 'c': {'d': 1}}.size() == 3))` },
  { name: 'list literals in a loop', source: `${million}[i, j, [i, j], [[i]]].size() == 4))` },
  { name: 'timestamps parsed in a loop', source: `${million}timestamp(objects[j].at) >= timestamp(objects[i].at)))` },
  {
    name: 'durations parsed in a loop',
    source: `${million}duration(string(i) + 'h' + string(j) + 'm') >= duration('0s')))`,
  },
  { name: 'time zones in a loop', source: `${million}timestamp(i * 86400 + j).getHours('America/New_York') >= 0))` },
  {
    name: 'unknown time zones',
    source: `${million}timestamp(0).getHours('Zone/' + string(i * 1000 + j)) == 0 || true))`,
  },
  { name: 'patterns compiled in a loop', source: `${million}!'x'.matches('(a|b|c)+' + string(i * 1000 + j)) ))` },
  { name: 'patterns that multiply', source: `text.matches('(a{1,100}){1,8}b')` },
  { name: 'pattern with nested repeats on long text', source: `${million}!text.matches('^(a+)+$!')))` },
  { name: 'find in long text', source: `${million}text.findAll('a*?b').size() == 0))` },
  { name: 'find every character', source: `${million}text.findAll('a').size() >= 0))` },
  { name: 'split by nothing', source: `${million}text.split('').size() > 0))` },
  { name: 'joins', source: `${million}words.join(',').size() > 0))` },
  { name: 'replace by long text', source: `text.replace('a', text).size() > 0` },
  { name: 'replace nothing by long text', source: `text.replace('', text).size() > 0` },
  { name: 'index of in long text', source: `${million}text.indexOf('ab') < 0))` },
  { name: 'index of long in long', source: `${million}text.indexOf(text + 'b') < 0))` },
  { name: 'last index of in long text', source: `${million}dashes.lastIndexOf('--a') < 0))` },
  { name: 'contains in long text', source: `${million}!text.contains('aaaaaaaaaaaaaaab')))` },
  { name: 'starts with long text', source: `${million}(text + 'x').startsWith(text)))` },
  { name: 'comparing long texts', source: `${million}text <= text + 'b'))` },
  { name: 'equal long texts', source: `${million}text + 'b' == text + 'b'))` },
  { name: 'equal long lists', source: `${million}list == list.map(x, x)))` },
  { name: 'equal maps', source: `${million}map == map))` },
  { name: 'in a long list', source: `${million}!(-1 in list)))` },
  { name: 'distinct of many', source: `list.distinct().size() > 0` },
  { name: 'sets of many', source: `sets.contains(list, list)` },
  { name: 'sorting in a loop', source: `${million}list.sort().size() > 0))` },
  { name: 'sorting by key in a loop', source: `${million}words.sort_by(w, w).size() > 0))` },
  { name: 'reverse in a loop', source: `${million}list.reverse().size() > 0))` },
  { name: 'slices in a loop', source: `${million}list.slice(0, 20000).size() > 0))` },
  { name: 'flatten in a loop', source: `${million}[list, list].flatten().size() > 0))` },
  { name: 'huge range', source: `lists.range(9223372036854775807).size() > 0` },
  { name: 'keys of a map in a loop', source: `${million}map.all(k, true)))` },
  { name: 'size of a map in a loop', source: `${million}map.size() > 0))` },
  { name: 'size of long text in a loop', source: `${million}text.size() > 0))` },
  { name: 'format in a loop', source: `${million}'%s %s %.100f'.format([i, words, 1.5]).size() > 0))` },
  { name: 'format of long lists', source: `'%s'.format([objects]).size() > 0` },
  { name: 'quote in a loop', source: `${million}strings.quote(text).size() > 0))` },
  { name: 'trim in a loop', source: `${million}(' ' + text).trim().size() > 0))` },
  { name: 'case in a loop', source: `${million}text.upperAscii().size() > 0))` },
  { name: 'base64 in a loop', source: `${million}base64.encode(bytes(text)).size() > 0))` },
  {
    name: 'quantities in a loop',
    source: `${million}quantity('1.' + string(i * 1000 + j)).isLessThan(quantity('9e100'))))`,
  },
  { name: 'semver in a loop', source: `${million}semver('1.2.' + string(i)).isLessThan(semver('2.0.0'))))` },
  { name: 'addresses in a loop', source: `${million}cidr('2001:db8::/32').containsIP('2001:db8::' + string(j))))` },
  {
    name: 'urls in a loop',
    source: `${million}url('https://example.com/' + string(i) + '?a=' + string(j)).getQuery().size() == 1))`,
  },
  { name: 'formats in a loop', source: `${million}!format.dns1123Subdomain().validate('a.' + string(i)).hasValue()))` },
  { name: 'wide integers in a loop', source: `${million}(9007199254740993 + i) * 1 - j > 0))` },
  { name: 'unsigned in a loop', source: `${million}uint(i) + uint(j) >= 0u))` },
  { name: 'optionals in a loop', source: `${million}optional.of(i).optMap(x, x + j).orValue(0) >= 0))` },
  { name: 'conversions in a loop', source: `${million}int(string(double(i))) >= 0 && string(j) != ''))` },
  { name: 'errors in a loop', source: `${million}objects[i].missing == 1 || true))` },
  { name: 'maps transformed in a loop', source: `${million}map.transformMap(k, v, v + 1).size() > 0))` },
  { name: 'reversed texts', source: `${million}text.reverse().size() > 0))` },
  { name: 'char at in long text', source: `${million}text.charAt(99999) == 'a'))` },
  { name: 'substring of long text', source: `${million}text.substring(1, 99999).size() > 0))` },
]
