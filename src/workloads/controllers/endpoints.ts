import { endpointSlices, endpoints, pods, services } from '../../kube/core-types.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { matches, requirementsOf } from '../../kube/selector.ts'
import { ignoring } from '../../kube/status-error.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, type Outcome } from '../../runtime/controller/outcome.ts'
import { ownerKeys } from '../adoption.ts'
import { portsAnnotation, simulatedMark, type PortMap } from '../ports-annotation.ts'
import { whenRead, type WorkloadPorts } from '../ports.ts'
import { deleteOwned } from '../delete.ts'
import { controllerRef, controllerUid, hasSimulated, isPodFinished, isPodReady, type Pod } from '../types.ts'

interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
  readonly targetPort?: number | string
}

interface Service extends StoredObject {
  readonly spec: { readonly selector?: Readonly<Record<string, string>>; readonly ports?: readonly ServicePort[] }
}

interface Slice extends StoredObject {
  readonly ports?: unknown
  readonly endpoints?: unknown
}

/** Writes EndpointSlices and Endpoints of Services: one slice per Pod, because each process listens on its own port. */
export function endpointsController({ client, informers, ports }: WorkloadPorts): Controller {
  const all = informers.open<Service>(client, services)
  const running = informers.open<Pod>(client, pods)
  const slices = informers.open<Slice>(client, endpointSlices, { indexes: { service: serviceNamed } })
  const controller = new Controller({ name: 'endpoints', reconcile, ports, concurrency: 4 })
  controller.watch(all)
  controller.watch(slices, ({ object }) => ownerKeys(object, 'Service'))
  controller.watch(running, ({ object, previous }) =>
    all
      .list(object.metadata.namespace)
      .filter((service) => selects(service, object) || (previous && selects(service, previous)))
      .map((service) => keyOf(service)),
  )
  return controller

  async function reconcile(key: Key): Promise<Outcome> {
    const service = all.get(key.namespace, key.name)
    if (!service?.spec.selector || service.metadata.deletionTimestamp) return settled
    if (!running.synced || !slices.synced) return whenRead({ ports })
    const selected = running
      .list(key.namespace)
      .filter((pod) => selects(service, pod) && pod.status?.podIP && !isPodFinished(pod))
    const wanted = selected.map((pod) => sliceFor(service, pod))
    // By name, not by owner: slices of an earlier Service of that name block the names until the collector deletes them.
    const owned = slices.byIndex('service', `${key.namespace}/${key.name}`)
    for (const slice of wanted)
      await writeSlice(
        key,
        slice,
        owned.find(({ metadata }) => metadata.name === slice.metadata.name),
      )
    for (const slice of owned)
      if (!wanted.some(({ metadata }) => metadata.name === slice.metadata.name))
        await deleteOwned(client, endpointSlices, slice)
    await writeEndpoints(service, selected)
    return settled
  }

  async function writeSlice(key: Key, wanted: ReturnType<typeof sliceFor>, found: Slice | undefined): Promise<void> {
    if (found && isCurrent(found, wanted)) return
    const { labels, ownerReferences } = wanted.metadata
    const written = found
      ? await client.update<StoredObject>(endpointSlices, {
          ...wanted,
          metadata: { ...found.metadata, labels, ownerReferences },
        })
      : await client.create<StoredObject>(endpointSlices, wanted).catch(ignoring('AlreadyExists'))
    if (written) controller.expect(key, written.metadata.resourceVersion, slices as never)
  }

  async function writeEndpoints(service: Service, selected: readonly Pod[]): Promise<void> {
    const { name, namespace = '' } = service.metadata
    const subsets = selected.map((pod) => {
      const address = [{ ip: pod.status?.podIP, nodeName: pod.spec.nodeName, targetRef: targetRef(pod) }]
      const listed = portsFor(service, pod).map(({ name: portName, port, protocol }) => ({
        ...(portName ? { name: portName } : {}),
        port,
        protocol,
      }))
      return { ...(isPodReady(pod) ? { addresses: address } : { notReadyAddresses: address }), ports: listed }
    })
    const wanted = {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, namespace, ...(service.metadata.labels ? { labels: service.metadata.labels } : {}) },
      ...(subsets.length > 0 ? { subsets } : {}),
    }
    const found = await client.get<StoredObject>(endpoints, { namespace, name }).catch(ignoring('NotFound'))
    if (!found) return void (await client.create(endpoints, wanted).catch(ignoring('AlreadyExists')))
    if (!deepEqual(found.subsets ?? [], subsets))
      await client.update(endpoints, {
        ...wanted,
        metadata: { ...wanted.metadata, resourceVersion: found.metadata.resourceVersion },
      })
  }
}

function isCurrent(found: Slice, wanted: ReturnType<typeof sliceFor>): boolean {
  return (
    deepEqual(found.endpoints, wanted.endpoints) &&
    deepEqual(found.ports ?? [], wanted.ports) &&
    deepEqual(controllerUid(found), controllerUid(wanted))
  )
}

const serviceLabel = 'kubernetes.io/service-name'
const managedBy = { 'endpointslice.kubernetes.io/managed-by': 'sojourn-workloads' } as const

/** Index of the slices this controller manages, by the Service their label names. */
function serviceNamed({ metadata: { namespace = '', labels = {} } }: StoredObject): readonly string[] {
  const isManaged = Object.entries(managedBy).every(([key, value]) => labels[key] === value)
  return isManaged && labels[serviceLabel] ? [`${namespace}/${labels[serviceLabel]}`] : []
}

function selects({ spec, metadata }: Service, pod: Pod): boolean {
  if (!spec.selector || metadata.namespace !== pod.metadata.namespace) return false
  return matches(requirementsOf({ matchLabels: spec.selector }), pod.metadata.labels)
}

function sliceFor(service: Service, pod: Pod) {
  const isReady = isPodReady(pod)
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${service.metadata.name}-${pod.metadata.name}`.slice(0, 250),
      namespace: service.metadata.namespace ?? '',
      labels: {
        [serviceLabel]: service.metadata.name,
        ...managedBy,
        ...(hasSimulated(pod) ? { [simulatedMark]: 'true' } : {}),
      },
      ownerReferences: [controllerRef(services, service)],
    },
    addressType: 'IPv4',
    endpoints: [
      {
        addresses: [pod.status?.podIP ?? ''],
        conditions: { ready: isReady, serving: isReady, terminating: pod.metadata.deletionTimestamp !== undefined },
        nodeName: pod.spec.nodeName ?? '',
        targetRef: targetRef(pod),
      },
    ],
    ports: portsFor(service, pod).map(({ name, port, protocol }) => ({ name, port, protocol })),
  }
}

function targetRef({ metadata }: Pod) {
  return { kind: 'Pod', name: metadata.name, namespace: metadata.namespace ?? '', uid: metadata.uid }
}

/** The Service's ports, with the local ports this Pod listens on. */
function portsFor({ spec }: Service, pod: Pod): readonly { name: string; port: number; protocol: string }[] {
  const localPorts = portMapOf(pod)
  return (spec.ports ?? []).flatMap(({ name = '', port, protocol = 'TCP', targetPort = port }) => {
    const declared = pod.spec.containers
      .flatMap(({ ports: listed = [] }) => listed)
      .find((candidate) =>
        typeof targetPort === 'number' ? candidate.containerPort === targetPort : candidate.name === targetPort,
      )
    const containerPort = declared?.containerPort ?? (typeof targetPort === 'number' ? targetPort : undefined)
    return containerPort === undefined ? [] : [{ name, port: localPorts[containerPort] ?? containerPort, protocol }]
  })
}

function portMapOf({ metadata }: Pod): PortMap {
  try {
    return JSON.parse(metadata.annotations?.[portsAnnotation] ?? '{}') as PortMap
  } catch {
    return {}
  }
}
