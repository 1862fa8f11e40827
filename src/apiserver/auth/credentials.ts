import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { parseTime } from '../../kube/time.ts'
import { controllersGroup, viewersGroup } from './bootstrap-roles.ts'
import { issueCertificate, type CertificateRequest, type Issuer, type KeyPair } from './certificates/certificate.ts'
import { StaticTokens } from './static-tokens.ts'
import { mastersGroup } from './user.ts'

/** The server's own certificate, and what it authenticates clients with. */
export interface Credentials {
  /** PEM of the CA certificate: clients verify the server with it, the server verifies client certificates. */
  readonly authority: string
  readonly server: KeyPair
  /** A client certificate for the administrator. */
  readonly admin: KeyPair
  readonly tokens: StaticTokens
  /** PEM of the key that signs ServiceAccount tokens. */
  readonly serviceAccountKey: string
}

/** Where credentials are kept and what they must be valid for. */
export interface CredentialsOptions {
  /** Folder (0700) of the credential files (0600). Without it, credentials last as long as the process. */
  readonly directory?: string
  readonly now: number
  /** DNS names and IP addresses that clients use for the server. */
  readonly hosts: readonly string[]
}

/**
 * Reads the server's credentials. Creates those that are missing, expire within 30 days, or are not valid for these
 * hosts.
 */
export function loadCredentials(options: CredentialsOptions): Credentials {
  const files = new CredentialFiles(options.directory)
  const authority = authorityPair(files, options)
  return {
    authority: authority.certificate,
    server: leafPair(files, 'server', {
      authority,
      options,
      request: { commonName: 'kube-apiserver', hosts: options.hosts, usage: 'server' },
    }),
    admin: leafPair(files, 'admin', {
      authority,
      options,
      request: { commonName: 'kubernetes-admin', organizations: [mastersGroup], usage: 'client' },
    }),
    tokens: staticTokens(files),
    serviceAccountKey: files.readOr('service-account.key', newSigningKey),
  }
}

const authorityName = 'sojourn-ca'
const authorityDays = 3650
const leafDays = 365
const renewalMs = 30 * 86_400_000

type SignedPair = KeyPair & { readonly issuer: Issuer }

function authorityPair(files: CredentialFiles, { now }: CredentialsOptions): SignedPair {
  const known = files.pair('ca')
  if (known && expiresAt(known.certificate) - now > renewalMs) {
    return { ...known, issuer: { commonName: authorityName, key: createPrivateKey(known.key) } }
  }
  const made = issueCertificate({
    commonName: authorityName,
    usage: 'authority',
    now,
    days: authorityDays,
    serial: randomBytes(16),
  })
  files.writePair('ca', made)
  return made
}

/** The stored certificate of this name if it can still be used, else a new one signed by the CA. */
function leafPair(
  files: CredentialFiles,
  name: string,
  wanted: {
    readonly authority: SignedPair
    readonly options: CredentialsOptions
    readonly request: Pick<CertificateRequest, 'commonName' | 'organizations' | 'hosts' | 'usage'>
  },
): KeyPair {
  const { authority, options, request } = wanted
  const known = files.pair(name)
  if (known && isUsable(known, authority, options.now, request.hosts)) return known
  const { certificate, key } = issueCertificate(
    { ...request, now: options.now, days: leafDays, serial: randomBytes(16) },
    authority.issuer,
  )
  files.writePair(name, { certificate, key })
  return { certificate, key }
}

/** Whether a certificate is signed by this CA, valid for these hosts, and does not expire soon. */
export function isUsable(
  { certificate }: KeyPair,
  authority: Pick<KeyPair, 'certificate'>,
  now: number,
  hosts: readonly string[] = [],
): boolean {
  const parsed = new X509Certificate(certificate)
  return (
    expiresAt(certificate) - now > renewalMs &&
    parsed.verify(new X509Certificate(authority.certificate).publicKey) &&
    hosts.every((host) => (isIP(host) ? parsed.checkIP(host) : parsed.checkHost(host)) !== undefined)
  )
}

function expiresAt(certificate: string): number {
  return parseTime(new X509Certificate(certificate).validToDate.toISOString()) ?? 0
}

function staticTokens(files: CredentialFiles): StaticTokens {
  return StaticTokens.parse(
    files.readOr('tokens.csv', () =>
      [
        [newToken(), 'system:admin', 'admin', mastersGroup],
        [newToken(), 'sojourn:viewer', 'viewer', viewersGroup],
        [newToken(), 'sojourn:controller', 'controller', controllersGroup],
      ]
        .map((row) => `${row.join(',')}\n`)
        .join(''),
    ),
  )
}

function newToken(): string {
  return randomBytes(32).toString('base64url')
}

function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The credential files of a folder. Without a folder, reads find nothing and writes do nothing. */
class CredentialFiles {
  readonly #directory: string | undefined

  constructor(directory: string | undefined) {
    this.#directory = directory
    if (directory) mkdirSync(directory, { recursive: true, mode: 0o700 })
  }

  readOr(name: string, make: () => string): string {
    const known = this.#read(name)
    if (known !== undefined) return known
    const made = make()
    this.#write(name, made)
    return made
  }

  pair(name: string): KeyPair | undefined {
    const certificate = this.#read(`${name}.crt`)
    const key = this.#read(`${name}.key`)
    return certificate && key ? { certificate, key } : undefined
  }

  writePair(name: string, { certificate, key }: KeyPair): void {
    this.#write(`${name}.key`, key)
    this.#write(`${name}.crt`, certificate)
  }

  #read(name: string): string | undefined {
    if (!this.#directory) return undefined
    const path = join(this.#directory, name)
    if (!existsSync(path)) return undefined
    // Copying the folder may have lost the file modes.
    chmodSync(path, 0o600)
    return readFileSync(path, 'utf8')
  }

  #write(name: string, content: string): void {
    if (!this.#directory) return
    const path = join(this.#directory, name)
    // Written beside and renamed, so that a crash never leaves half a key.
    writeFileSync(`${path}.new`, content, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
}
