import type { StoredObject } from '../../kube/object.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import type { Informer } from '../../runtime/informer.ts'
import { annotation } from './annotations.ts'
import type { Certificate } from './proxy/certificates.ts'
import type { DataPlane } from './proxy/data-plane.ts'
import type { RouteBook } from './route-book.ts'

export interface CertificateKeeperParts {
  readonly secrets: Informer
  readonly services: Informer
  readonly book: RouteBook
  readonly plane: DataPlane
  readonly events: Pick<EventRecorder, 'record'>
}

/** Gives the proxy the certificates that Services name, and new ones when their Secrets change. */
export class CertificateKeeper {
  readonly #parts: CertificateKeeperParts
  #given = ''

  constructor(parts: CertificateKeeperParts) {
    this.#parts = parts
  }

  /** Looks at all of them again; the proxy hears of it only when something changed. */
  async refresh(): Promise<void> {
    const wanted = this.#wanted()
    const certificates = [...wanted.keys()].toSorted().flatMap((name) => this.#certificate(name) ?? [])
    const given = JSON.stringify(certificates)
    if (given === this.#given) return
    this.#given = given
    for (const { name, message } of await this.#parts.plane.setCertificates(certificates)) {
      for (const service of wanted.get(name) ?? []) {
        this.#parts.events.record(service, {
          type: 'Warning',
          reason: 'InvalidCertificate',
          message: `${annotation.tlsSecret}: ${name}: ${message}`,
        })
      }
    }
  }

  /** Secrets by name, and the Services that want them. */
  #wanted(): Map<string, StoredObject[]> {
    const wanted = new Map<string, StoredObject[]>()
    for (const { namespace, name, wishes } of this.#parts.book.all()) {
      const service = this.#parts.services.get(namespace, name)
      if (wishes.tlsSecret === undefined || !service) continue
      const secret = `${namespace}/${wishes.tlsSecret}`
      wanted.set(secret, [...(wanted.get(secret) ?? []), service])
    }
    return wanted
  }

  #certificate(id: string): Certificate | undefined {
    const [namespace = '', name = ''] = id.split('/')
    const secret = this.#parts.secrets.get(namespace, name)
    if (!secret) return undefined
    const { data = {} } = secret as { readonly data?: Readonly<Record<string, string>> }
    const plain = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
    return { name: id, cert: plain('tls.crt'), key: plain('tls.key') }
  }
}
