import { describe, expect, it } from 'vitest'
import { compile } from '../compile.ts'
import { kubernetesEnvironment } from '../environments.ts'
import { CelCompileError, CelError } from '../errors.ts'
import { toJson } from '../json.ts'
import { dynType } from '../types.ts'

const environment = kubernetesEnvironment({ x: dynType })

/** The result as JSON, or the message of its error. */
function result(source: string): unknown {
  const program = compile(source, environment)
  if (program instanceof CelCompileError) return `compile: ${program.issues[0]?.message}`
  const value = program.evaluate({ x: {} })
  return value instanceof CelError ? `error: ${value.message}` : toJson(value)
}

function table(cases: readonly (readonly [string, unknown])[]): void {
  it.each(cases)('%s', (source, expected) => expect(result(source)).toEqual(expected))
}

describe('lists', () => {
  table([
    ['[1, 2, 2].isSorted()', true],
    ["['b', 'a'].isSorted()", false],
    ['[1, 2, 3].sum()', 6],
    ['[1.5, 2.5].sum()', 4],
    ["[duration('1h'), duration('30m')].sum()", '5400s'],
    ['[].sum() == 0', true],
    ['[3, 1, 2].min()', 1],
    ["['a', 'c'].max()", 'c'],
    ['[].min()', 'error: min() and max() need a list that is not empty'],
    ["[1, dyn('a')].max()", 'error: no such overload'],
    ['[1, 2, 1].indexOf(1)', 0],
    ['[1, 2, 1].lastIndexOf(1)', 2],
    ['[1].indexOf(5)', -1],
    ['[1, 2, 3, 4].slice(1, 3)', [2, 3]],
    ['[1].slice(0, 2)', 'error: cannot slice from 0 to 2: list has 1 elements'],
    ['[[1], [2, 3]].flatten()', [1, 2, 3]],
    ['[[1, [2]], [3]].flatten(2)', [1, 2, 3]],
    ['[1, 2, 2, 1].distinct()', [1, 2]],
    ['[3, 1, 2].sort()', [1, 2, 3]],
    ["[{'n': 2}, {'n': 1}].sortBy(e, e.n)[0].n", 1],
    ['[1, 2].reverse()', [2, 1]],
    ['lists.range(3)', [0, 1, 2]],
    ['lists.range(-1)', []],
    ['[1, 2].first().value() + [1, 2].last().value()', 3],
    ['[].first().hasValue()', false],
  ])
})

describe('sets', () => {
  table([
    ['sets.contains([1, 2, 3], [3, 1])', true],
    ['sets.contains([1], [1, 2])', false],
    ['sets.equivalent([1, 1u], [1.0])', true],
    ['sets.intersects([1], [2])', false],
    ['sets.intersects([1, 2], [2])', true],
  ])
})

describe('regex', () => {
  table([
    ["'abc 123'.find('[0-9]+')", '123'],
    ["'abc'.find('[0-9]+')", ''],
    ["'1 22 333'.findAll('[0-9]+')", ['1', '22', '333']],
    ["'1 22 333'.findAll('[0-9]+', 2)", ['1', '22']],
    ["'1'.findAll('[0-9]+', 0)", []],
    ["'a'.find('(?P<x>a)')", 'a'],
    ["'a'.matches('(?=a)')", expect.stringContaining('compile: invalid regular expression')],
    ["'a'.find(string(x.?p.orValue('[')))", expect.stringContaining('error: invalid regular expression')],
    ["'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')", false],
  ])
})

describe('url', () => {
  const address = "url('https://user@example.com:80/a%20b/ü?q=1&q=2&r=x+y')"
  table([
    [`${address}.getScheme()`, 'https'],
    [`${address}.getHost()`, 'example.com:80'],
    [`${address}.getHostname()`, 'example.com'],
    [`${address}.getPort()`, '80'],
    [`${address}.getQuery()`, { q: ['1', '2'], r: ['x y'] }],
    ["url('https://example.com/a b').getEscapedPath()", '/a%20b'],
    ["url('https://[::1]:8080/x').getHostname()", '::1'],
    ["url('/just/a/path').getEscapedPath()", '/just/a/path'],
    ["url('/just/a/path').getHost()", ''],
    ["isURL('https://example.com:80/')", true],
    ["isURL('../relative')", false],
    ["isURL('https://a:b:c/')", false],
    ["isURL('https://example.com:port/')", false],
    ["isURL('https://exa mple.com/')", false],
    ["isURL('/%zz')", false],
    ["url('nope')", 'error: invalid URL: "nope"'],
    ["url('https://a/') == url('https://a/')", true],
  ])
})

describe('ip and cidr', () => {
  table([
    ["ip('192.168.0.1').family()", 4],
    ["ip('::1').family()", 6],
    ["string(ip('2001:DB8:0:0:1:0:0:1'))", '2001:db8::1:0:0:1'],
    ["isIP('127.0.0.01')", false],
    ["isIP('1.2.3')", false],
    ["isIP('::ffff:1.2.3.4')", false],
    ["isIP('fe80::1%eth0')", false],
    ["isIP('64:ff9b::1.2.3.4')", true],
    ["ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::ABCD')", true],
    ["ip('127.0.0.1').isLoopback() && ip('::1').isLoopback()", true],
    ["ip('0.0.0.0').isUnspecified()", true],
    ["ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", true],
    ["ip('169.254.1.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()", true],
    ["ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", true],
    ["ip('x')", 'error: invalid IP address: "x"'],
    ["cidr('192.168.0.0/24').containsIP('192.168.0.7')", true],
    ["cidr('192.168.0.0/24').containsIP(ip('192.168.1.7'))", false],
    ["cidr('192.168.0.0/16').containsCIDR('192.168.7.0/24')", true],
    ["cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))", false],
    ["cidr('192.168.0.0/24').containsIP('::1')", false],
    ["string(cidr('192.168.1.77/24').masked())", '192.168.1.0/24'],
    ["cidr('192.168.1.77/24').ip() == ip('192.168.1.77')", true],
    ["cidr('::/0').prefixLength()", 0],
    ["isCIDR('10.0.0.0/33') || isCIDR('10.0.0.0/08') || isCIDR('10.0.0.0')", false],
    ["type(ip('::')) == net.IP", true],
  ])
})

describe('quantity', () => {
  table([
    ["quantity('1.5Gi').asInteger()", 1_610_612_736],
    ["quantity('100m').isInteger()", false],
    ["quantity('100m').asInteger()", 'error: cannot convert quantity to integer'],
    ["quantity('100m').asApproximateFloat()", 0.1],
    ["quantity('1k') == quantity('1000')", true],
    ["quantity('2e3').asInteger()", 2000],
    ["quantity('1Ki').isGreaterThan(quantity('1k'))", true],
    ["quantity('50M').isLessThan(quantity('50Mi'))", true],
    ["quantity('1').compareTo(quantity('1000m'))", 0],
    ["quantity('-1').sign()", -1],
    ["quantity('1Gi').add(quantity('1Gi')).sub(1) == quantity('2147483647')", true],
    ["isQuantity('1.3Zi') || isQuantity('') || isQuantity('Gi') || isQuantity('1 Gi')", false],
    ["isQuantity('.5') && isQuantity('+1.') && isQuantity('1E3')", true],
    ["quantity('1x')", 'error: invalid quantity: "1x"'],
  ])
})

describe('semver', () => {
  table([
    ["semver('1.2.3').major() + semver('1.2.3').minor() + semver('1.2.3').patch()", 6],
    ["semver('1.0.0-alpha').isLessThan(semver('1.0.0'))", true],
    ["semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10'))", true],
    ["semver('1.0.0-alpha').compareTo(semver('1.0.0-alpha.1'))", -1],
    ["semver('1.0.0-1').isLessThan(semver('1.0.0-a'))", true],
    ["semver('1.0.0+a') == semver('1.0.0+b')", true],
    ["semver('2.0.0').isGreaterThan(semver('1.99.99'))", true],
    ["isSemver('v1.0.0') || isSemver('1.0') || isSemver('01.0.0') || isSemver('1.0.0-01')", false],
    ["isSemver('v1.0', true)", true],
    ["semver('v01.2', true) == semver('1.2.0')", true],
    ["semver('x')", 'error: invalid semantic version: "x"'],
  ])
})

describe('format', () => {
  table([
    ["format.dns1123Label().validate('my-name').hasValue()", false],
    ["format.dns1123Label().validate('-bad').value().size()", 1],
    ["format.dns1123LabelPrefix().validate('good-').hasValue()", false],
    ["format.dns1123Subdomain().validate('a.b-c.d').hasValue()", false],
    ["format.dns1035Label().validate('1a').hasValue()", true],
    ["format.qualifiedName().validate('example.com/Name').hasValue()", false],
    ["format.qualifiedName().validate('a/b/c').hasValue()", true],
    ["format.labelValue().validate('').hasValue()", false],
    ["format.uuid().validate('6f5a0d1c-0000-4000-8000-000000000001').hasValue()", false],
    ["format.uri().validate('not a uri').hasValue()", true],
    ["format.byte().validate('aGk=').hasValue()", false],
    ["format.date().validate('2026-02-30').hasValue()", true],
    ["format.datetime().validate('2026-02-28T00:00:00Z').hasValue()", false],
    ["format.named('dns1123Label').value().validate('ok').hasValue()", false],
    ["format.named('unknown').hasValue()", false],
  ])
})
