import { describe, expect, it } from 'vitest'
import { canonicalHost, configuredHost } from './host.ts'

describe('a host on the wire', () => {
  it.each([
    ['example.com', 'example.com'],
    ['example.com:80', 'example.com'],
    ['EXAMPLE.io:8080', 'example.io'],
    ['example.io.', 'example.io'],
    ['example.io.:80', 'example.io'],
    ['[::1]:80', '[::1]'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
    ['127.0.0.1:7080', '127.0.0.1'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['svc', 'svc'],
  ])('%s is %s (C1, C70)', (written, canonical) => expect(canonicalHost(written)).toBe(canonical))

  it.each([
    'b\u00fccher.example',
    'a b',
    'user@example.com',
    'a..b',
    '.a',
    '-a.test',
    '',
    ':80',
    '[::1',
    '[::g]',
    'a:b',
    'a:123456',
    'a/b',
    'a,b',
    `${'a'.repeat(64)}.test`,
    `${'a.'.repeat(130)}test`,
    '*.example.com',
  ])('%s is none (C70)', (written) => expect(canonicalHost(written)).toBeUndefined())
})

describe('a host in configuration', () => {
  it.each([
    [' Example.IO ', 'example.io'],
    ['b\u00fccher.example', 'xn--bcher-kva.example'],
    ['*.example.io', '*.example.io'],
    ['*', '*'],
  ])('%s is stored as %s (C70)', (written, stored) => expect(configuredHost(written)).toBe(stored))

  it.each(['', 'a b', '*.', '*.*.a', 'a.*.b', 'http://a', 'b\u00fccher/x'])('%s is refused', (written) =>
    expect(configuredHost(written)).toBeUndefined(),
  )
})
