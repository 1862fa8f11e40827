import { describe, expect, it } from 'vitest'
import { readConfig } from '../config/config.ts'
import { userInClaims, userOfProxy } from './identity.ts'

const textsOf = (flags: Readonly<Record<string, string>> = {}) => readConfig({ flags, env: {} }).dashboard.texts
const ada = { email: 'ada@example.org', groups: ['devs', 'ops'] }

describe('users of a provider', () => {
  it('are named by the claims, with the prefixes', () => {
    const texts = textsOf({ 'oidc-username-prefix': 'oidc:', 'oidc-groups-prefix': 'oidc:' })
    expect(userInClaims(ada, texts)).toEqual({ user: 'oidc:ada@example.org', groups: ['oidc:devs', 'oidc:ops'] })
    expect(userInClaims({ email: 'a@b.c', groups: 'devs' }, textsOf())).toEqual({ user: 'a@b.c', groups: ['devs'] })
    expect(userInClaims({ email: 'a@b.c' }, textsOf())).toEqual({ user: 'a@b.c', groups: [] })
    expect(userInClaims({ ...ada, email_verified: 'true' }, textsOf())).toMatchObject({ user: 'ada@example.org' })
  })

  it('have only the groups that the operator allows', () => {
    const allowed = textsOf({ 'impersonate-groups': 'ops,other' })
    expect(userInClaims(ada, allowed)).toEqual({ user: 'ada@example.org', groups: ['ops'] })
  })

  it.each([
    ['no name', { groups: [] }, 'no claim "email"'],
    ['an empty name', { email: '' }, 'no claim "email"'],
    ['an unverified address', { ...ada, email_verified: false }, 'not verified'],
    ['an unverified address, as a text', { ...ada, email_verified: 'false' }, 'not verified'],
    ['a reserved name', { email: 'system:admin' }, 'reserves'],
    ['a reserved group', { ...ada, groups: ['devs', 'system:masters'] }, 'reserves'],
    ['a reserved group in other letters', { ...ada, groups: [' System:masters'] }, 'reserves'],
    ['groups that are no texts', { ...ada, groups: [1] }, 'not texts'],
    ['groups behind another address', { ...ada, groups: { src1: {} } }, 'not texts'],
    ['a name of two lines', { email: 'a\r\nImpersonate-Group: system:masters' }, 'cannot be impersonated'],
    ['a name that a header cannot carry', { email: 'zoë@example.org' }, 'cannot be impersonated'],
  ])('are refused with %s', (_, claims, why) => {
    expect(userInClaims(claims, textsOf())).toContain(why)
  })
})

it('needs the address of the dashboard to send users to a provider', () => {
  const read = (flags: Readonly<Record<string, string>>) => () => readConfig({ flags, env: {} })
  const oidc = { 'oidc-issuer': 'https://id.example.org', 'oidc-client-id': 'x' }
  expect(read(oidc)).toThrow('--public-url')
  expect(read({ ...oidc, 'public-url': 'https://a.example.org/prefix' })).toThrow('without a path')
  expect(read({ ...oidc, 'oidc-issuer': 'http://id.example.org', 'public-url': 'https://a' })).toThrow('https URL')
})

describe('users that an authenticating proxy names', () => {
  const flags = {
    'trusted-proxies': '10.1.0.0/16',
    'proxy-user-header': 'X-Forwarded-Email',
    'proxy-groups-header': 'X-Forwarded-Groups',
  }
  const reader = (given: Readonly<Record<string, string>> = flags) => userOfProxy(readConfig({ flags: given, env: {} }))
  const headers = ['x-forwarded-email', 'ada@example.org', 'X-Forwarded-Groups', 'devs, ops']
  const named = (rawHeaders: readonly string[], remoteAddress = '10.1.2.3') => reader()({ remoteAddress, rawHeaders })

  it('are believed from trusted proxies only', () => {
    expect(named(headers)).toEqual({ user: 'ada@example.org', groups: ['devs', 'ops'] })
    expect(named(headers, '::ffff:10.1.2.3')).toEqual({ user: 'ada@example.org', groups: ['devs', 'ops'] })
    for (const address of ['10.2.0.1', '127.0.0.1', '::1', '']) expect(named(headers, address)).toBeUndefined()
  })

  it('have no groups from a header that the operator did not name', () => {
    const { 'proxy-groups-header': _, ...without } = flags
    const given = reader(without)({ remoteAddress: '10.1.2.3', rawHeaders: headers })
    expect(given).toEqual({ user: 'ada@example.org', groups: [] })
  })

  it.each([
    ['a user header of the client before its own', [...headers, 'X-Forwarded-Email', 'root@example.org'], 'twice'],
    ['a groups header of the client before its own', ['x-forwarded-groups', 'admins', ...headers], 'twice'],
    ['no user', ['X-Forwarded-Groups', 'devs'], 'no header X-Forwarded-Email'],
    ['an empty user', ['X-Forwarded-Email', ''], 'no header X-Forwarded-Email'],
    ['a reserved user', ['X-Forwarded-Email', 'system:admin'], 'reserves'],
    ['a reserved group', ['X-Forwarded-Email', 'a@b.c', 'X-Forwarded-Groups', 'devs,system:masters'], 'reserves'],
  ])('are refused with %s', (_, rawHeaders, why) => {
    expect(named(rawHeaders)).toContain(why)
  })

  it('need the addresses of the proxies', () => {
    expect(() => reader({ 'proxy-user-header': 'X-Forwarded-Email' })).toThrow('--trusted-proxies')
    const none = reader({ 'trusted-proxies': '10.1.0.0/16' })
    expect(none({ remoteAddress: '10.1.2.3', rawHeaders: headers })).toBeUndefined()
  })
})
