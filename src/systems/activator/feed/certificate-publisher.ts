import type { Core } from '../cluster/core.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { annotation, type Fault } from '../model/annotations.ts'
import type { Certificate } from '../proxy/tls/certificates.ts'
import type { OnDemandService } from '../model/service-registry.ts'

export interface CertificatePublisherParts extends Core {
  readonly secrets: Informer
  /** The hosts that lead to a Service. */
  readonly hostsOf: (service: string) => readonly string[]
  /** What there is to say of these Services' certificates has changed. */
  readonly onNews: (services: readonly string[]) => void
}

/** Gives the proxy the certificates that Services name, and new ones when their Secrets change. */
export class CertificatePublisher {
  readonly #parts: CertificatePublisherParts
  #given = ''
  /** What is wrong with Secrets that are there, by name. */
  #unusable: ReadonlyMap<string, string> = new Map()
  /** What was last said of each Secret that is named. */
  #said = new Map<string, string>()

  constructor(parts: CertificatePublisherParts) {
    this.#parts = parts
  }

  /** Looks at all of them again; the proxy hears of it only when something changed. */
  async refresh(): Promise<void> {
    const wanted = this.#wanted()
    const certificates = [...wanted.keys()]
      .toSorted()
      .flatMap((name) => this.#certificate(name, wanted.get(name)!) ?? [])
    const given = JSON.stringify(certificates)
    if (given !== this.#given) {
      this.#given = given
      const faults = await this.#parts.plane.setCertificates(certificates)
      this.#unusable = new Map(faults.map(({ name, message }) => [name, message]))
    }
    this.#tell(wanted)
  }

  /** What is wrong with the certificate that a Service names. */
  faultsOf({ namespace, settings: { tlsSecret } }: OnDemandService): readonly Fault[] {
    const problem = tlsSecret === undefined ? undefined : this.#problem(`${namespace}/${tlsSecret}`)
    return problem === undefined ? [] : [{ annotation: annotation.tlsSecret, message: problem }]
  }

  #problem(id: string): string | undefined {
    const { secrets } = this.#parts
    const [namespace = '', name = ''] = id.split('/')
    if (!secrets.synced) return undefined
    if (!secrets.get(namespace, name)) return `there is no Secret "${name}" of type kubernetes.io/tls`
    const unusable = this.#unusable.get(id)
    return unusable === undefined ? undefined : `the certificate in Secret "${name}" cannot be used: ${unusable}`
  }

  #tell(wanted: ReadonlyMap<string, readonly string[]>): void {
    const says = new Map([...wanted.keys()].map((name) => [name, this.#problem(name) ?? '']))
    const news = [...wanted].filter(([name]) => says.get(name) !== (this.#said.get(name) ?? ''))
    this.#said = says
    if (news.length > 0) this.#parts.onNews(news.flatMap(([, ids]) => ids))
  }

  /** Secrets by name, and the Services that want them. */
  #wanted(): Map<string, string[]> {
    const wanted = new Map<string, string[]>()
    for (const { id, namespace, settings } of this.#parts.registry.all()) {
      if (settings.tlsSecret === undefined) continue
      wanted.getOrInsert(`${namespace}/${settings.tlsSecret}`, []).push(id)
    }
    return wanted
  }

  #certificate(id: string, services: readonly string[]): Certificate | undefined {
    const [namespace = '', name = ''] = id.split('/')
    const secret = this.#parts.secrets.get(namespace, name)
    if (!secret) return undefined
    const { data = {} } = secret as { readonly data?: Readonly<Record<string, string>> }
    const plain = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8')
    const hosts = services.flatMap((service) => this.#parts.hostsOf(service))
    return { name: id, cert: plain('tls.crt'), key: plain('tls.key'), hosts }
  }
}
