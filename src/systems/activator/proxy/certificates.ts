import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { configuredHost } from './host.ts'
import { tlsOptions, type TlsTerms } from './tls-terms.ts'

/** A certificate chain and its key, in PEM, under the name of where it came from. */
export interface Certificate {
  readonly name: string
  readonly cert: string
  readonly key: string
}

/** A certificate that cannot be used, and why. */
export interface CertificateFault {
  readonly name: string
  readonly message: string
}

/** The certificates a TLS listener has to offer, by the host a client asks for. */
export class CertificateStore {
  readonly terms: TlsTerms
  #byHost = new Map<string, SecureContext>()
  #first: SecureContext | undefined
  #firstPem: Pick<Certificate, 'cert' | 'key'> | undefined

  constructor(terms: TlsTerms = {}) {
    this.terms = terms
  }

  /** Takes these in place of all former ones. One that cannot be used harms none of the others. */
  replace(certificates: readonly Certificate[]): readonly CertificateFault[] {
    const faults: CertificateFault[] = []
    const byHost = new Map<string, SecureContext>()
    let first: SecureContext | undefined
    for (const { name, cert, key } of certificates) {
      try {
        const leaf = new X509Certificate(cert)
        if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the key is not that of the certificate')
        const context = createSecureContext({ cert, key, ...tlsOptions(this.terms) })
        if (!first) this.#firstPem = { cert, key }
        first ??= context
        for (const host of hostsOf(leaf)) if (!byHost.has(host)) byHost.set(host, context)
      } catch (error) {
        faults.push({ name, message: error instanceof Error ? error.message : String(error) })
      }
    }
    this.#byHost = byHost
    this.#first = first
    return faults
  }

  /** What a client gets that names no server. */
  get first(): Pick<Certificate, 'cert' | 'key'> | undefined {
    return this.#firstPem
  }

  /** The certificate for a server name: its own, else a wildcard's, else the first there is. */
  find(serverName: string): SecureContext | undefined {
    const host = configuredHost(serverName)
    if (host === undefined) return this.#first
    const dot = host.indexOf('.')
    return this.#byHost.get(host) ?? (dot < 0 ? undefined : this.#byHost.get(`*${host.slice(dot)}`)) ?? this.#first
  }
}

/** The hosts a certificate speaks for, as its alternative names list them. */
function hostsOf(certificate: X509Certificate): string[] {
  const names = (certificate.subjectAltName ?? '').split(', ')
  return names.flatMap((name) => {
    const [kind, value] = [name.slice(0, name.indexOf(':')), name.slice(name.indexOf(':') + 1)]
    const host =
      kind === 'DNS'
        ? configuredHost(value)
        : kind === 'IP Address'
          ? configuredHost(value.includes(':') ? `[${value}]` : value)
          : undefined
    return host === undefined ? [] : [host]
  })
}
