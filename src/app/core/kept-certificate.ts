import type { ProcessParts } from '../../runtime/process-parts.ts'
import { secrets } from '../../kube/core-types.ts'
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { issueCertificate, type KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import { isUsable } from '../../apiserver/auth/credentials.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { KubeObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'

export interface KeptCertificatePorts extends Pick<ProcessParts, 'client' | 'clock'> {
  /** Names and addresses by which callers reach this server. */
  readonly hosts: readonly string[]
}

/** A server certificate, and the authority that callers trust. */
export interface Chain {
  readonly authority: KeyPair
  readonly server: KeyPair
}

/**
 * The certificate in a Secret of Sojourn's namespace, renewed when it expires or lacks a host. Undefined when the Secret does not
 * exist: the installation creates it. When several replicas renew at once, one write wins and the others read it.
 */
export async function keptCertificate(
  name: string,
  { client, clock, hosts }: KeptCertificatePorts,
): Promise<Chain | undefined> {
  const place = { namespace: sojournNamespace, name }
  const found = await client.get(secrets, place).catch(ignoring('NotFound'))
  if (!found) return undefined
  const known = chainIn(found)
  const now = clock.now()
  if (known && isUsable(known.server, known.authority, now, hosts)) return known
  const renewed = renew(known?.authority, { name, hosts, now })
  const written = await client.update(secrets, { ...found, data: dataOf(renewed) }).catch(ignoring('Conflict'))
  return written ? renewed : (chainIn(await client.get(secrets, place)) ?? renewed)
}

const day = 86_400_000

/** A new certificate, signed by the known authority while that is valid for another year. */
function renew(
  known: KeyPair | undefined,
  { name, hosts, now }: { readonly name: string; readonly hosts: readonly string[]; readonly now: number },
): Chain {
  const authorityName = `${name}-ca`
  const isLasting = known && isUsable(known, known, now + 365 * day)
  const authority = isLasting
    ? { ...known, issuer: { commonName: authorityName, key: createPrivateKey(known.key) } }
    : issueCertificate({ commonName: authorityName, usage: 'authority', now, days: 3650, serial: randomBytes(16) })
  const { certificate, key } = issueCertificate(
    { commonName: 'sojourn', hosts, usage: 'server', now, days: 365, serial: randomBytes(16) },
    authority.issuer,
  )
  return { authority: { certificate: authority.certificate, key: authority.key }, server: { certificate, key } }
}

const fields = { 'ca.crt': 0, 'ca.key': 1, 'tls.crt': 2, 'tls.key': 3 } as const

function dataOf({ authority, server }: Chain): Record<string, string> {
  const texts = [authority.certificate, authority.key, server.certificate, server.key]
  return Object.fromEntries(
    Object.entries(fields).map(([name, index]) => [name, Buffer.from(texts[index] ?? '').toString('base64')]),
  )
}

/** The certificates in a Secret; undefined when it is empty or holds anything else. */
function chainIn(secret: KubeObject): Chain | undefined {
  const data = (secret.data ?? {}) as Readonly<Record<string, string>>
  const [ca = '', caKey = '', certificate = '', key = ''] = Object.keys(fields).map((name) =>
    Buffer.from(data[name] ?? '', 'base64').toString('utf8'),
  )
  const isReadable =
    [ca, certificate].every(isCertificate) && [caKey, key].every((text) => text.includes('PRIVATE KEY'))
  return isReadable ? { authority: { certificate: ca, key: caKey }, server: { certificate, key } } : undefined
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== ''
  } catch {
    return false
  }
}
