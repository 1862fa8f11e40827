import { isIP } from 'node:net'
import { parseApiVersion, type KubeObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { KeyedLoop } from '../objects/upkeep/keyed-loop.ts'
import { asSystem, type LifecycleController, type LifecyclePorts } from './ports.ts'

const name = 'kubernetes'
const namespace = 'default'
const resources: ReadonlySet<string> = new Set(['services', 'endpoints', 'endpointslices.discovery.k8s.io'])

/** Keeps the Service `default/kubernetes` and its endpoints, by which clients in Pods find this server. */
export class KubernetesService implements LifecycleController {
  readonly #ports: LifecyclePorts
  readonly #loop: KeyedLoop
  readonly #unsubscribe: () => void
  #wanted: readonly KubeObject[] = []

  constructor(ports: LifecyclePorts) {
    this.#ports = ports
    this.#loop = new KeyedLoop({
      clock: ports.clock,
      work: () => this.#reconcile(),
      onError: (error, key) => ports.onError(error, 'kubernetes-service', key),
    })
    this.#unsubscribe = ports.store.subscribe((events) => {
      if (events.some((event) => event.name === name && event.namespace === namespace && resources.has(event.resource)))
        this.#loop.add(name)
    })
  }

  /** Publishes the address at which the server listens. */
  async publish(host: string, port: number): Promise<void> {
    const isSpecific = isIP(host) > 0 && host !== '0.0.0.0' && host !== '::'
    this.#wanted = objectsFor(isSpecific ? host : '127.0.0.1', port)
    await this.#reconcile()
  }

  close(): Promise<void> {
    this.#unsubscribe()
    return this.#loop.close()
  }

  async #reconcile(): Promise<void> {
    const { objects, kinds } = this.#ports
    for (const body of this.#wanted) {
      const type = kinds.ofKind({ ...parseApiVersion(body.apiVersion), kind: body.kind })
      if (!type) throw new Error(`${body.kind} is not served`)
      const request = { type, namespace, ...asSystem, body }
      // A patch that changes nothing writes nothing, so that its own event does not start another one.
      const found = await objects.patch({ ...request, name, patchType: 'merge' }).catch(ignoring('NotFound'))
      if (!found) await objects.create(request).catch(ignoring('AlreadyExists'))
    }
  }
}

function objectsFor(host: string, port: number): readonly KubeObject[] {
  const metadata = (labels: Readonly<Record<string, string>>) => ({ name, namespace, labels })
  const https = { name: 'https', port, protocol: 'TCP' }
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata({ component: 'apiserver', provider: name }),
      spec: { clusterIP: '10.96.0.1', ports: [{ ...https, port: 443, targetPort: port }] },
    },
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: metadata({ 'endpointslice.kubernetes.io/skip-mirror': 'true' }),
      subsets: [{ addresses: [{ ip: host }], ports: [https] }],
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: metadata({ 'kubernetes.io/service-name': name }),
      addressType: isIP(host) === 6 ? 'IPv6' : 'IPv4',
      endpoints: [{ addresses: [host], conditions: { ready: true } }],
      ports: [https],
    },
  ]
}
