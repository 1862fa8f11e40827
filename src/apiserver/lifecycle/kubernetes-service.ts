import { isIP } from 'node:net'
import type { KubeObject } from '../../kube/object.ts'
import type { StoreEvent } from '../store/store.ts'
import { ensureObject, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const name = 'kubernetes'
const namespace = 'default'
const resources: ReadonlySet<string> = new Set(['services', 'endpoints', 'endpointslices.discovery.k8s.io'])

/** Publishes the address at which the server listens. */
export interface KubernetesService extends LifecycleController {
  publish(host: string, port: number): Promise<void>
}

/** Keeps the Service `default/kubernetes` and its endpoints, by which clients in Pods find this server. */
export function kubernetesService(ports: LifecyclePorts): KubernetesService {
  const { store } = ports
  let wanted: readonly KubeObject[] = []
  const reconcile = async () => {
    for (const body of wanted) await ensureObject(ports, body)
  }
  const isOurs = (event: StoreEvent) =>
    event.name === name && event.namespace === namespace && resources.has(event.resource)
  let retry = () => {}
  const running = runController(ports, 'kubernetes-service', {
    reconcile,
    follow: (add) => {
      retry = () => add(name)
      return store.subscribe((events) => events.some(isOurs) && retry())
    },
  })
  return {
    ...running,
    publish: (host, port) => {
      const isSpecific = isIP(host) > 0 && host !== '0.0.0.0' && host !== '::'
      wanted = objectsFor(isSpecific ? host : '127.0.0.1', port)
      // A policy of users may refuse it: then the loop says so, and tries again.
      return reconcile().catch(retry)
    },
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
