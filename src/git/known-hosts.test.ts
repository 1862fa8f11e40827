import { createHmac, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { knownHost } from './ssh-transport.ts'

const key = randomBytes(51)
const line = (hosts: string) => `${hosts} ssh-ed25519 ${key.toString('base64')} comment\n`
const knows = (file: string, host = 'git.acme.test', port = 22) => knownHost(file, { host, port }).isKnown(key)

it.each([
  ['by its name', 'git.acme.test'],
  ['in any case', 'GIT.Acme.test'],
  ['among others', 'other.test,git.acme.test,10.0.0.1'],
  ['by a pattern', '*.acme.test'],
  ['by a pattern with one unknown letter', 'gi?.acme.test'],
  ['by a pattern that tries more than once', '*a*e.test'],
])('knows a host %s', (_, hosts) => expect(knows(line(hosts))).toBe(true))

it.each([
  ['has another name', 'acme.test'],
  ['is excepted', '*.acme.test,!git.acme.test'],
  ['is there only as a comment', '#git.acme.test'],
  ['is vouched for by an authority', '@cert-authority git.acme.test'],
  ['is revoked', '@revoked git.acme.test'],
  ['has only part of the name', 'git.acme'],
  ['has the dot as any letter', 'gitxacme.test'],
])('does not know a host that %s', (_, hosts) => expect(knows(line(hosts))).toBe(false))

it('tells ports apart', () => {
  expect(knows(line('git.acme.test'), 'git.acme.test', 2222)).toBe(false)
  expect(knows(line('[git.acme.test]:2222'), 'git.acme.test', 2222)).toBe(true)
  expect(knows(line('[git.acme.test]:2222'))).toBe(false)
})

it('knows a hashed name and no other', () => {
  const salt = randomBytes(20)
  const hash = createHmac('sha1', salt).update('git.acme.test').digest('base64')
  const file = line(`|1|${salt.toString('base64')}|${hash}`)
  expect(knows(file)).toBe(true)
  expect(knows(file, 'git.acme.test.evil')).toBe(false)
})

it('does not take a long pattern for an excuse to be slow', () => {
  const host = `${'a'.repeat(5000)}b`
  expect(knows(line(`${'*a'.repeat(500)}c`), host)).toBe(false)
})
