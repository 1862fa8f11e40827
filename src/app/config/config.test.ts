import { defaultPrices } from '../../prices/prices.ts'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readConfig, roles } from './config.ts'

let directory = ''
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'config-'))))
afterEach(() => rmSync(directory, { recursive: true }))

function file(content: string): string {
  const path = join(directory, 'sojourn.yaml')
  writeFileSync(path, content)
  return path
}

describe('readConfig', () => {
  it('has a default for everything', () => {
    expect(readConfig({ flags: {}, env: {} })).toEqual({
      collectCycles: false,
      data: '.sojourn',
      host: '127.0.0.1',
      port: 7443,
      proxyPort: 7080,
      recordSecrets: false,
      only: roles,
      dryRun: false,
      logLevel: 'info',
      keepRecordsMs: 30 * 86_400_000,
      durable: true,
      savings: { prices: defaultPrices, savingsHorizonMs: 30 * 86_400_000, savingsMail: [] },
      activator: {
        proxyProtocol: false,
        tlsPolicy: {},
        activatorPart: 'all',
        peerPort: 0,
        peerLeaseMs: 15_000,
        companions: false,
        compatibility: [],
        takeoverPorts: { from: 20_000, to: 29_999 },
        drainMs: 3000,
        domainReleaseAfterMs: 600_000,
        requireDomainGrant: false,
        accessLog: false,
        trustedProxies: [],
        drainDelayMs: 0,
        proxless: expect.objectContaining({ unneeded: [] }),
      },
      dashboard: {
        texts: expect.objectContaining({ 'oidc-issuer': '', 'oidc-username-claim': 'email' }),
        impersonate: false,
        sessionIdleMs: 3_600_000,
        sessionMaxMs: 43_200_000,
      },
      tenancy: {
        requireServiceAccount: false,
        requireWebhookToken: false,
        withoutCreator: 'Confine',
        noCrossNamespaceRefs: false,
      },
    })
  })

  it('holds objects without a recorded creator where ServiceAccounts are required, by default', () => {
    const tenancy = (flags: Record<string, string>) => readConfig({ flags, env: {} }).tenancy
    expect(tenancy({ 'default-service-account': 'reaper' })).toMatchObject({
      defaultServiceAccount: 'reaper',
      withoutCreator: 'Hold',
    })
    expect(tenancy({ 'require-service-account': 'true' })).toMatchObject({ withoutCreator: 'Hold' })
    expect(tenancy({ 'require-service-account': 'true', 'without-creator': 'Confine' })).toMatchObject({
      withoutCreator: 'Confine',
    })
    expect(() => tenancy({ 'default-service-account': 'kube-system/admin' })).toThrow(
      '--default-service-account is "kube-system/admin": it must be the name of a ServiceAccount',
    )
    expect(() => tenancy({ 'without-creator': 'Ignore' })).toThrow('--without-creator is "Ignore"')
  })

  it('reads proxless variables where allowed; SOJOURN_ variables win', () => {
    const env = { PORT: '80', LOG_LEVEL: 'VERBOSE', NAMESPACE: 'shop', SERVERLESS_TTL_SECONDS: '45', REDIS_URL: 'r:1' }
    expect(readConfig({ flags: {}, env, proxless: true })).toMatchObject({
      proxyPort: 80,
      logLevel: 'debug',
      activator: {
        proxless: { options: { namespace: 'shop', defaults: { ttlMs: 45_000 } }, unneeded: ['REDIS_URL'] },
      },
    })
    const ours = { ...env, SOJOURN_PROXY_PORT: '81' }
    expect(readConfig({ flags: { 'log-level': 'error' }, env: ours, proxless: true })).toMatchObject({
      proxyPort: 81,
      logLevel: 'error',
    })
    expect(readConfig({ flags: {}, env })).toMatchObject({ proxyPort: 7080, logLevel: 'info' })
  })

  it('reads the TLS policy of the proxy, and names unusable values', () => {
    const terms = (flags: Record<string, string>) => readConfig({ flags, env: {} }).activator.tlsPolicy
    expect(terms({ 'proxy-tls-min-version': '1.3', 'proxy-tls-groups': 'X25519:P-256' })).toEqual({
      minVersion: 'TLSv1.3',
      ecdhCurve: 'X25519:P-256',
    })
    expect(() => terms({ 'proxy-tls-min-version': '1.1' })).toThrow(
      '--proxy-tls-min-version is "1.1": it must be one of 1.2, 1.3',
    )
    expect(() => terms({ 'proxy-tls-ciphers': 'NONE' })).toThrow(/--proxy-tls-ciphers cannot be used/)
    expect(() => terms({ 'proxy-tls-groups': 'curve' })).toThrow(/--proxy-tls-groups cannot be used/)
  })

  it('accepts only a range for the takeover ports', () => {
    const read = (text: string) => readConfig({ flags: { 'takeover-ports': text }, env: {} }).activator.takeoverPorts
    expect(read('20000-20009')).toEqual({ from: 20_000, to: 20_009 })
    const lease = (text: string) => readConfig({ flags: { 'peer-lease': text }, env: {} }).activator.peerLeaseMs
    expect(lease('5s')).toBe(5000)
    for (const text of ['2s', '3500ms', '-5s', 'soon']) expect(() => lease(text)).toThrow('--peer-lease')
    for (const text of ['20000', '9-1', '0-5', '1-70000', 'a-b']) expect(() => read(text)).toThrow('--takeover-ports')
  })

  it('enables companions where the cluster can reach the proxy', () => {
    const companions = (env: Record<string, string>, flags = {}) =>
      readConfig({ flags, env, proxless: true }).activator.companions
    expect(companions({ POD_IP: '10.0.0.7' })).toBe(true)
    expect(companions({ POD_IP: '10.0.0.7' }, { companions: false })).toBe(false)
    expect(companions({})).toBe(false)
    expect(() => readConfig({ flags: { 'proxy-address': 'here' }, env: {} })).toThrow(/--proxy-address is "here"/)
  })

  it('prefers flags over environment over file', () => {
    const config = file('port: 1\nproxyPort: 2\ndata: from-file\nonly: [api, cleaner]\n')
    const read = readConfig({ flags: { config, port: '3' }, env: { SOJOURN_PORT: '4', SOJOURN_DATA: 'from-env' } })
    expect(read).toMatchObject({ port: 3, proxyPort: 2, data: 'from-env', only: ['api', 'cleaner'] })
  })

  it.each<[string, Record<string, string>, RegExp]>([
    ['a port that is none', { port: '70000' }, /--port is "70000": a port is a number from 0 to 65535/],
    ['an unknown role', { only: 'cleaner,cook' }, /--only names the unknown role "cook"; roles are api, cleaner/],
    ['a duration that is none', { 'keep-records': 'long' }, /--keep-records is "long": a duration looks like/],
    ['a URL that is none', { 'public-url': 'example' }, /--public-url is "example"/],
    ['a level that is none', { 'log-level': 'loud' }, /must be one of debug, info, error/],
    [
      'a file that is not there',
      { config: '/nonexistent/x.yaml' },
      /cannot read the configuration file .*: it does not exist/,
    ],
  ])('says what is wrong with %s', (_, flags, message) => expect(() => readConfig({ flags, env: {} })).toThrow(message))

  it.each([
    ['what is not YAML', 'a: [b', /is not YAML/],
    ['what is not settings', '- a', /must be a map of settings/],
    ['an unknown setting', 'prot: 1', /unknown setting "prot"; known are config, data/],
    ['a bad value, by its place', 'port: many', /sojourn.yaml: port is "many"/],
  ])('refuses a file with %s', (_, content, message) =>
    expect(() => readConfig({ flags: { config: file(content) }, env: {} })).toThrow(message),
  )

  it('names the variable that is wrong', () =>
    expect(() => readConfig({ flags: {}, env: { SOJOURN_DRY_RUN: 'maybe' } })).toThrow(/SOJOURN_DRY_RUN is "maybe"/))
})
