import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'
import { configuredHost } from '../wire/host.ts'
import { tlsOptions, type TlsPolicy } from './tls-policy.ts'

/** A certificate chain and its key, in PEM, under the name of where it came from. */
export interface Certificate {
  readonly name: string
  readonly cert: string
  readonly key: string
  /** The hosts of the Service that names it: for these, as far as it covers them, it is preferred to other certificates. */
  readonly hosts?: readonly string[]
}

/** A certificate that cannot be used, and why. */
export interface CertificateFault {
  readonly name: string
  readonly message: string
}

/** The certificates a TLS listener has to offer, by the host a client asks for. */
export class CertificateStore {
  readonly policy: TlsPolicy
  #byOwner = new Map<string, SecureContext>()
  #byName = new Map<string, SecureContext>()
  #first: SecureContext | undefined
  #firstPem: Pick<Certificate, 'cert' | 'key'> | undefined

  constructor(policy: TlsPolicy = {}) {
    this.policy = policy
  }

  /** Replaces all certificates. An invalid one does not affect the others. */
  replace(certificates: readonly Certificate[]): readonly CertificateFault[] {
    const faults: CertificateFault[] = []
    this.#byOwner = new Map()
    this.#byName = new Map()
    this.#first = undefined
    for (const certificate of certificates) {
      try {
        this.#add(certificate)
      } catch (error) {
        faults.push({ name: certificate.name, message: error instanceof Error ? error.message : String(error) })
      }
    }
    return faults
  }

  #add({ cert, key, hosts = [] }: Certificate): void {
    const leaf = new X509Certificate(cert)
    if (!leaf.checkPrivateKey(createPrivateKey(key))) throw new Error('the key is not that of the certificate')
    const context = createSecureContext({ cert, key, ...tlsOptions(this.policy) })
    if (!this.#first) this.#firstPem = { cert, key }
    this.#first ??= context
    const names = namesOf(leaf)
    const owned = hosts.filter((host) => names.some((name) => speaksFor(name, host)))
    for (const host of owned) if (!this.#byOwner.has(host)) this.#byOwner.set(host, context)
    for (const name of names) if (!this.#byName.has(name)) this.#byName.set(name, context)
  }

  /** The certificate for clients that send no server name. */
  get first(): Pick<Certificate, 'cert' | 'key'> | undefined {
    return this.#firstPem
  }

  /** The certificate for a server name: that of the Service that owns the host, else any that covers it, else the first. */
  find(serverName: string): SecureContext | undefined {
    const host = configuredHost(serverName)
    if (host === undefined) return this.#first
    const others = `*${host.slice(host.indexOf('.'))}`
    for (const known of [this.#byOwner, this.#byName]) {
      const found = known.get(host) ?? known.get(others)
      if (found) return found
    }
    return this.#first
  }
}

function speaksFor(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && name.slice(1) === host.slice(host.indexOf('.')))
}

/** The hosts a certificate speaks for, as its alternative names list them. */
function namesOf(certificate: X509Certificate): string[] {
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
