import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { formatTime } from '../../../kube/time.ts'
import { der } from './der.ts'

/** A certificate with its private key, both PEM. */
export interface KeyPair {
  readonly certificate: string
  readonly key: string
}

/** What a new certificate says about its subject. */
export interface CertificateRequest {
  readonly commonName: string
  /** Groups of a client. */
  readonly organizations?: readonly string[]
  /** DNS names and IP addresses of a server. */
  readonly hosts?: readonly string[]
  readonly usage: 'authority' | 'server' | 'client'
  /** Epoch milliseconds. */
  readonly now: number
  readonly days: number
  /** 16 random bytes; RFC 5280 §4.1.2.2 wants serial numbers unique per issuer. */
  readonly serial: Uint8Array
}

/** The CA that signs: its key, and its name in issued certificates. */
export interface Issuer {
  readonly commonName: string
  readonly key: KeyObject
}

/** Generates a P-256 key and its X.509 certificate; self-signed without an issuer. */
export function issueCertificate(request: CertificateRequest, issuer?: Issuer): KeyPair & { readonly issuer: Issuer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const self: Issuer = { commonName: request.commonName, key: privateKey }
  const signer = issuer ?? self
  const body = toBeSigned(request, signer, publicKey.export({ type: 'spki', format: 'der' }))
  const signature = sign('sha256', body, { key: signer.key, dsaEncoding: 'der' })
  return {
    certificate: pem(der.sequence(body, ecdsaWithSha256, der.bits(signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    issuer: self,
  }
}

const ecdsaWithSha256 = der.sequence(der.objectId('1.2.840.10045.4.3.2'))
const clockSkewMs = 60_000

/** The TBSCertificate of RFC 5280 §4.1. */
function toBeSigned(request: CertificateRequest, issuer: Issuer, publicKey: Uint8Array): Buffer {
  const { now, days } = request
  return der.sequence(
    der.explicit(0, der.integer(Uint8Array.of(2))),
    der.integer(Uint8Array.of(1, ...request.serial.subarray(0, 15))),
    ecdsaWithSha256,
    name({ commonName: issuer.commonName }),
    der.sequence(time(now - clockSkewMs), time(now + days * 86_400_000)),
    name(request),
    publicKey,
    der.explicit(3, der.sequence(...extensions(request, publicKey))),
  )
}

function name({ commonName, organizations = [] }: { commonName: string; organizations?: readonly string[] }): Buffer {
  const attribute = (id: string, value: string) => der.set(der.sequence(der.objectId(id), der.utf8(value)))
  return der.sequence(
    ...organizations.map((organization) => attribute('2.5.4.10', organization)),
    attribute('2.5.4.3', commonName),
  )
}

function extensions({ usage, hosts = [] }: CertificateRequest, publicKey: Uint8Array): Buffer[] {
  const keyId = der.octets(createHash('sha1').update(publicKey).digest())
  const isAuthority = usage === 'authority'
  return [
    extension('2.5.29.19', der.sequence(...(isAuthority ? [der.boolean(true)] : [])), true),
    // keyCertSign and cRLSign for an authority, digitalSignature otherwise.
    extension('2.5.29.15', isAuthority ? der.bits(Uint8Array.of(0x06), 1) : der.bits(Uint8Array.of(0x80), 7), true),
    extension('2.5.29.14', keyId),
    ...(isAuthority ? [] : [extension('2.5.29.37', der.sequence(der.objectId(extendedUsage[usage])))]),
    ...(hosts.length > 0 ? [extension('2.5.29.17', der.sequence(...hosts.map(hostName)))] : []),
  ]
}

const extendedUsage = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const

function extension(id: string, value: Uint8Array, critical = false): Buffer {
  return der.sequence(der.objectId(id), ...(critical ? [der.boolean(true)] : []), der.octets(value))
}

function hostName(host: string): Buffer {
  switch (isIP(host)) {
    case 4:
      return der.implicit(7, Uint8Array.from(host.split('.').map(Number)))
    case 6:
      return der.implicit(7, ipv6Bytes(host))
    default:
      return der.implicit(2, Buffer.from(host))
  }
}

function ipv6Bytes(address: string): Uint8Array {
  const [head = '', tail] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const left = groups(head)
  const right = groups(tail ?? '')
  const middle = Array<string>(tail === undefined ? 0 : 8 - left.length - right.length).fill('0')
  return Uint8Array.from(
    [...left, ...middle, ...right].flatMap((group) => {
      const value = Number.parseInt(group, 16)
      return [value >> 8, value & 0xff]
    }),
  )
}

/** RFC 5280 §4.1.2.5: UTCTime through 2049, GeneralizedTime from 2050. */
function time(atMs: number): Buffer {
  const text = formatTime(atMs).replaceAll(/[-:T]/g, '')
  return Number(text.slice(0, 4)) < 2050 ? der.utcTime(text.slice(2)) : der.generalizedTime(text)
}

function pem(bytes: Uint8Array): string {
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
