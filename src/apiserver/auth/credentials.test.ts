import { X509Certificate } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadCredentials } from './credentials.ts'

const now = Date.UTC(2026, 10, 15)
const hosts = ['127.0.0.1', '::1', 'localhost']
const year = 365 * 86_400_000

describe('loadCredentials', () => {
  let directory: string
  beforeEach(() => {
    directory = join(mkdtempSync(join(tmpdir(), 'sojourn-credentials-')), 'pki')
  })
  afterEach(() => rmSync(join(directory, '..'), { recursive: true, force: true }))

  it('makes certificates that chain to its authority and name every host', () => {
    const { authority, server, admin } = loadCredentials({ directory, now, hosts })
    const ca = new X509Certificate(authority)
    const certificate = new X509Certificate(server.certificate)
    expect(ca.ca).toBe(true)
    expect(certificate.checkIssued(ca)).toBe(true)
    expect(certificate.verify(ca.publicKey)).toBe(true)
    expect(hosts.map((host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)))).toEqual(hosts)
    expect(new X509Certificate(admin.certificate).subject).toBe('O=system:masters\nCN=kubernetes-admin')
  })

  it('restricts every file to its owner, even after its mode was widened', () => {
    loadCredentials({ directory, now, hosts })
    chmodSync(join(directory, 'ca.key'), 0o644)
    loadCredentials({ directory, now, hosts })
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    for (const file of readdirSync(directory))
      expect([file, statSync(join(directory, file)).mode & 0o777]).toEqual([file, 0o600])
  })

  it('finds the same again at the next start', () => {
    const first = loadCredentials({ directory, now, hosts })
    const second = loadCredentials({ directory, now, hosts })
    expect(second.authority).toBe(first.authority)
    expect(second.server).toEqual(first.server)
    expect(second.tokens.tokenOf('system:admin')).toBe(first.tokens.tokenOf('system:admin'))
  })

  it('makes a new server certificate for new hosts and before the old one expires, under the same authority', () => {
    const first = loadCredentials({ directory, now, hosts })
    const other = loadCredentials({ directory, now, hosts: [...hosts, 'cluster.example'] })
    expect(other.server.certificate).not.toBe(first.server.certificate)
    const later = loadCredentials({ directory, now: now + year, hosts })
    expect(later.server.certificate).not.toBe(other.server.certificate)
    expect(later.authority).toBe(first.authority)
  })

  it('creates tokens for exactly three users', () => {
    const { tokens } = loadCredentials({ directory, now, hosts })
    const user = tokens.user(tokens.tokenOf('sojourn:viewer') ?? '')
    expect(user).toEqual({ name: 'sojourn:viewer', uid: 'viewer', groups: ['sojourn:viewers', 'system:authenticated'] })
    expect(tokens.user('nonsense')).toBeUndefined()
    expect(readFileSync(join(directory, 'tokens.csv'), 'utf8').split('\n')).toHaveLength(4)
  })
})
