import { endpointSlices, endpoints, services } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import { removeOwn } from '../../../departures/subjects/own-machinery.ts'
import { type KubeObject, type StoredObject, placeOf } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { EventNote } from '../../../runtime/observability/event-recorder.ts'
import { annotation } from '../model/annotations.ts'
import { portsOf, type EndpointSlice } from '../model/endpoints.ts'
import {
  formatSelector,
  isMirrored,
  ownedMetadata,
  podsServiceName,
  type PlainTakeoverStep,
  type Selector,
} from '../decision/takeover.ts'

/** Everything that taking a Service over writes. Each is safe to do twice. */
export class TakeoverActions {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** Does what a step says. `pods` is the Service that lists the pods, if there is one. */
  async carryOut(step: PlainTakeoverStep, service: StoredObject, pods: StoredObject | undefined): Promise<void> {
    switch (step.do) {
      case 'write-slices':
        return this.#writeSlices(step.write, step.remove)
      case 'move-selector':
        return this.#moveSelector(service, step.selector)
      case 'clear-foreign-slices':
        return this.#clearForeignSlices(service, step.slices)
      case 'restore-selector':
        return this.#restoreSelector(service, step.selector)
      case 'delete-slices':
        return this.#removeSlices(step.slices)
      case 'delete-pods-service':
        return pods && removeOwn(this.#client, services, pods)
      case 'wait':
      case 'rest':
        return
    }
  }

  /** Has Kubernetes list the pods of a selector under a name of ours, and notes where the proxies listen. */
  async ensurePodsService(
    service: StoredObject,
    wanted: { readonly selector: Selector; readonly proxyPorts: ReadonlyMap<string, number> },
    existing: StoredObject | undefined,
  ): Promise<void> {
    const made = podsService(service, wanted)
    if (!existing) return void (await this.#client.create(services, made).catch(ignoring('AlreadyExists')))
    const before = (existing.spec as { readonly selector?: Selector }).selector ?? {}
    const gone = Object.keys(before).filter((key) => !(key in wanted.selector))
    const spec = made.spec as { readonly selector: Selector }
    const selector = { ...Object.fromEntries(gone.map((key) => [key, null])), ...spec.selector }
    const { annotations, ownerReferences } = made.metadata
    const body = { metadata: { annotations, ownerReferences }, spec: { ...spec, selector, clusterIP: undefined } }
    await this.#client.merge(services, placeOf(existing.metadata), body)
  }

  /** Writes first, removes after: there is always somewhere to go. */
  async #writeSlices(write: readonly KubeObject[], remove: readonly EndpointSlice[]): Promise<void> {
    for (const slice of write) await writeSlice(this.#client, slice)
    await this.#removeSlices(remove)
  }

  async #removeSlices(slices: readonly EndpointSlice[]): Promise<void> {
    for (const slice of slices) await removeOwn(this.#client, endpointSlices, slice)
  }

  /** Out of the spec, into an annotation, in one write on exactly the version that was judged. */
  async #moveSelector(service: StoredObject, selector: Selector): Promise<void> {
    const { resourceVersion } = service.metadata
    const annotations = { [annotation.selector]: formatSelector(selector) }
    const body = { metadata: { resourceVersion, annotations }, spec: { selector: null } }
    await this.#client.merge(services, placeOf(service.metadata), body)
  }

  async #restoreSelector(service: StoredObject, selector: Selector): Promise<void> {
    const { resourceVersion } = service.metadata
    const body = { metadata: { resourceVersion, annotations: { [annotation.selector]: null } }, spec: { selector } }
    await this.#client.merge(services, placeOf(service.metadata), body)
  }

  /** Who owns the selector, by the fields that the server keeps; undefined when it does not tell. */
  async selectorManager(service: StoredObject): Promise<string | undefined> {
    const found = await this.#client.get(services, placeOf(service.metadata)).catch(ignoring('NotFound', 'Forbidden'))
    const { managedFields = [] } = (found?.metadata ?? {}) as {
      readonly managedFields?: readonly { readonly manager?: string; readonly fieldsV1?: { 'f:spec'?: object } }[]
    }
    return managedFields.find(({ fieldsV1 }) => 'f:selector' in (fieldsV1?.['f:spec'] ?? {}))?.manager
  }

  /** Empties what Kubernetes listed and no longer looks after. It is filled again once there is a selector again. */
  async #clearForeignSlices(service: StoredObject, slices: readonly EndpointSlice[]): Promise<void> {
    for (const slice of slices) {
      if (isMirrored(slice)) continue
      const body = { metadata: { resourceVersion: slice.metadata.resourceVersion }, endpoints: [] }
      await this.#client.merge(endpointSlices, placeOf(slice.metadata), body).catch(ignoring('NotFound', 'Conflict'))
    }
    if (slices.some(isMirrored)) await this.#emptyEndpoints(service)
  }

  async #emptyEndpoints(service: StoredObject): Promise<void> {
    const found = await this.#client.get(endpoints, placeOf(service.metadata)).catch(ignoring('NotFound'))
    if (!found || !isKubernetesOwn(found)) return
    const body = { metadata: { resourceVersion: found.metadata.resourceVersion }, subsets: null }
    await this.#client.merge(endpoints, placeOf(service.metadata), body).catch(ignoring('NotFound', 'Conflict'))
  }
}

/** Writes a slice of ours, whether there is one of its name or not. */
export async function writeSlice(client: Client, slice: KubeObject): Promise<void> {
  const { labels, ownerReferences } = slice.metadata
  const body = { metadata: { labels, ownerReferences }, endpoints: slice['endpoints'], ports: slice['ports'] }
  const patched = await client.merge(endpointSlices, placeOf(slice.metadata), body).catch(ignoring('NotFound'))
  if (!patched) await client.create(endpointSlices, slice)
}

/** What the people of a Service are told once a step is done. */
export function eventFor(step: PlainTakeoverStep): EventNote | undefined {
  if (step.do === 'move-selector') {
    const message = `Its selector is now in ${annotation.selector}; its callers come through the proxy.`
    return { type: 'Normal', reason: 'TakenOver', message }
  }
  if (step.do === 'restore-selector') {
    const message = 'Its selector is back in its spec; its callers go straight to its pods.'
    return { type: 'Normal', reason: 'GivenBack', message }
  }
  return undefined
}

/** Whether the endpoints controller wrote it, rather than a user. */
function isKubernetesOwn({ metadata: { annotations = {}, labels = {} } }: StoredObject): boolean {
  return (
    'endpoints.kubernetes.io/last-change-trigger-time' in annotations ||
    labels['endpoints.kubernetes.io/managed-by'] === 'endpoint-controller'
  )
}

function podsService(
  service: StoredObject,
  { selector, proxyPorts }: { readonly selector: Selector; readonly proxyPorts: ReadonlyMap<string, number> },
): KubeObject {
  const { publishNotReadyAddresses = false } = (service.spec ?? {}) as { readonly publishNotReadyAddresses?: boolean }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      ...ownedMetadata(service, podsServiceName(service.metadata.name)),
      annotations: { [annotation.proxyPorts]: JSON.stringify(Object.fromEntries(proxyPorts)) },
    },
    spec: {
      clusterIP: 'None',
      selector,
      publishNotReadyAddresses,
      ports: portsOf(service).map((each) => ({
        ...(each.name === undefined ? {} : { name: each.name }),
        port: each.port,
        protocol: each.protocol ?? 'TCP',
        ...(each.targetPort === undefined ? {} : { targetPort: each.targetPort }),
        ...(each.appProtocol === undefined ? {} : { appProtocol: each.appProtocol }),
      })),
    },
  }
}
