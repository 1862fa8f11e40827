import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Authenticator } from './authenticator.ts'
import { defaultAudience, ServiceAccountTokens, type TokenClaims } from './service-account-tokens.ts'
import { StaticTokens } from './static-tokens.ts'

const start = Date.UTC(2026, 10, 15) / 1000

function newTokens(): ServiceAccountTokens {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return new ServiceAccountTokens(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
}

function claims(overrides: Partial<TokenClaims> = {}): TokenClaims {
  return {
    namespace: 'n',
    serviceAccount: { name: 'a', uid: 'u1' },
    audiences: [defaultAudience],
    issuedAt: start,
    expiresAt: start + 3600,
    id: '',
    ...overrides,
  }
}

function authenticator(tokens: ServiceAccountTokens, uids: Record<string, string>, nowSeconds = start): Authenticator {
  return new Authenticator({
    tokens: StaticTokens.parse(''),
    serviceAccounts: tokens,
    uidOf: (resource, namespace, name) => uids[`${resource}/${namespace}/${name}`],
    clock: { now: () => nowSeconds * 1000 },
  })
}

const alive = { 'serviceaccounts/n/a': 'u1' }

describe('ServiceAccount tokens', () => {
  it('name their account and its groups', () => {
    const tokens = newTokens()
    expect(authenticator(tokens, alive).byToken(tokens.sign(claims()))).toMatchObject({
      name: 'system:serviceaccount:n:a',
      uid: 'u1',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:n', 'system:authenticated'],
    })
  })

  it('die when their time is up, even if they were seen before', () => {
    const tokens = newTokens()
    const token = tokens.sign(claims())
    let now = start
    const subject = new Authenticator({
      tokens: StaticTokens.parse(''),
      serviceAccounts: tokens,
      uidOf: () => 'u1',
      clock: { now: () => now * 1000 },
    })
    expect(subject.byToken(token)).toBeDefined()
    now = start + 3600
    expect(subject.byToken(token)).toBeUndefined()
  })

  it('die with their account, also when another takes its name', () => {
    const tokens = newTokens()
    const token = tokens.sign(claims())
    expect(authenticator(tokens, {}).byToken(token)).toBeUndefined()
    expect(authenticator(tokens, { 'serviceaccounts/n/a': 'u2' }).byToken(token)).toBeUndefined()
  })

  it('die with the object they are bound to', () => {
    const tokens = newTokens()
    const token = tokens.sign(claims({ bound: { kind: 'Pod', name: 'p', uid: 'pod1' } }))
    expect(authenticator(tokens, { ...alive, 'pods/n/p': 'pod1' }).byToken(token)?.extra).toMatchObject({
      'authentication.kubernetes.io/pod-name': ['p'],
    })
    expect(authenticator(tokens, { ...alive, 'pods/n/p': 'pod2' }).byToken(token)).toBeUndefined()
    expect(authenticator(tokens, alive).byToken(token)).toBeUndefined()
  })

  it('are good only for the audience they were made for', () => {
    const tokens = newTokens()
    const token = tokens.sign(claims({ audiences: ['vault'] }))
    expect(authenticator(tokens, alive).byToken(token)).toBeUndefined()
    expect(authenticator(tokens, alive).byToken(token, ['vault'])).toBeDefined()
  })

  it.each([
    ['a forged signature', (token: string) => `${token.slice(0, -4)}AAAA`],
    [
      'changed claims',
      (token: string) => token.replace(/\.[^.]+\./, `.${Buffer.from('{"iss":"x"}').toString('base64url')}.`),
    ],
    ['no signature', (token: string) => token.split('.').slice(0, 2).join('.')],
    [
      'the algorithm none',
      (token: string) => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${token.split('.')[1]}.`,
    ],
    ['a head that is no JSON', (token: string) => `!!.${token.split('.').slice(1).join('.')}`],
    ['nonsense', () => 'nonsense'],
  ])('are refused with %s', (_, change) => {
    const tokens = newTokens()
    expect(authenticator(tokens, alive).byToken(change(tokens.sign(claims())))).toBeUndefined()
  })

  it('of another server are refused', () => {
    expect(authenticator(newTokens(), alive).byToken(newTokens().sign(claims()))).toBeUndefined()
  })
})
