import { qosClass } from '../../apiserver/kinds/rules/pod-rules.ts'
import type { AdmissionHook } from '../../apiserver/objects/contract/admission.ts'
import { forbidden } from '../../apiserver/objects/contract/failures.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import { KeyedLoop } from '../../apiserver/objects/upkeep/keyed-loop.ts'
import type { Clock } from '../../apiserver/store/clock.ts'
import type { Store } from '../../apiserver/store/store.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Followed } from './followed.ts'
import { podAmounts, quantityOf, sum, type Amounts, type Container, type PodSpec } from './amounts.ts'

interface Quota extends StoredObject {
  readonly spec: {
    readonly hard?: Amounts
    readonly scopes?: readonly string[]
    readonly scopeSelector?: { readonly matchExpressions?: readonly Scope[] }
  }
  readonly status?: { readonly hard?: Amounts; readonly used?: Amounts }
}

interface Scope {
  readonly scopeName: string
  readonly operator: string
  readonly values?: readonly string[]
}

const prefixed = (prefix: string, amounts: Amounts): Amounts =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [prefix + name, amount]))

/** What one object counts for, by the names that quotas use. Pods that have ended count as objects only. */
function usageOf(resource: string, { spec, status }: KubeObject): Amounts {
  const counted = { [`count/${resource}`]: '1' }
  if (resource === 'pods') {
    if (['Succeeded', 'Failed'].includes((status as { readonly phase?: string } | undefined)?.phase ?? ''))
      return counted
    const requests = podAmounts(spec as PodSpec, 'requests')
    const limits = prefixed('limits.', podAmounts(spec as PodSpec, 'limits'))
    return { ...counted, pods: '1', ...requests, ...prefixed('requests.', requests), ...limits }
  }
  if (resource === 'persistentvolumeclaims') {
    const { resources, storageClassName = '' } = spec as Container & { readonly storageClassName?: string }
    const own: Amounts = { persistentvolumeclaims: '1', ...prefixed('requests.', resources?.requests ?? {}) }
    return { ...counted, ...own, ...prefixed(`${storageClassName}.storageclass.storage.k8s.io/`, own) }
  }
  if (resource !== 'services') return resource.includes('.') ? counted : { ...counted, [resource]: '1' }
  const { type, ports = [] } = spec as {
    readonly type?: string
    readonly ports?: readonly { readonly nodePort?: number }[]
  }
  const nodePorts = String(ports.filter(({ nodePort = 0 }) => nodePort > 0).length)
  return {
    ...counted,
    services: '1',
    'services.nodeports': nodePorts,
    'services.loadbalancers': type === 'LoadBalancer' ? '1' : '0',
  }
}

/** Whether a quota counts an object: by its scopes, which select Pods only. */
function isInScope({ spec: { scopes = [], scopeSelector } }: Quota, resource: string, object: KubeObject): boolean {
  const all: readonly Scope[] = [
    ...scopes.map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(scopeSelector?.matchExpressions ?? []),
  ]
  if (all.length === 0) return true
  if (resource !== 'pods') return false
  const pod = object.spec as PodSpec
  const isBestEffort = qosClass(pod as never) === 'BestEffort'
  const isTerminating = (pod.activeDeadlineSeconds ?? -1) >= 0
  const priority = pod.priorityClassName ?? ''
  const holds: Readonly<Record<string, boolean>> = {
    BestEffort: isBestEffort,
    NotBestEffort: !isBestEffort,
    Terminating: isTerminating,
    NotTerminating: !isTerminating,
    PriorityClass: priority !== '',
    CrossNamespacePodAffinity: hasAffinityAcross(pod.affinity ?? {}),
  }
  return all.every(({ scopeName, operator, values = [] }) =>
    operator === 'In'
      ? values.includes(priority)
      : operator === 'NotIn'
        ? !values.includes(priority)
        : (holds[scopeName] ?? false) === (operator === 'Exists'),
  )
}

/** What work beside the requests needs. */
export interface Background {
  readonly server: Pick<ApiServer, 'objects' | 'kinds'>
  readonly clock: Clock
  /** Called with errors of what no request answers for. */
  readonly onError: (error: unknown) => void
}

/** Whether a term of an affinity to Pods names other namespaces than the Pod's own. */
function hasAffinityAcross({ podAffinity, podAntiAffinity }: NonNullable<PodSpec['affinity']>): boolean {
  const terms = [podAffinity, podAntiAffinity].flatMap((each = {}) => [
    ...(each.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  ])
  return terms.some(({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector)
}

/** Enforces ResourceQuotas and keeps their status. */
export class Quotas {
  readonly #store: Store
  readonly #followed: Followed
  readonly #server: Background['server']

  constructor(store: Store, followed: Followed, { server, clock, onError }: Background) {
    this.#store = store
    this.#followed = followed
    this.#server = server
    const loop = new KeyedLoop({ clock, work: (namespace) => this.#writeStatuses(namespace), onError })
    store.subscribe((events) => {
      if (followed.has('resourcequotas')) for (const { namespace } of events) loop.add(namespace)
    })
    for (const { metadata } of this.#quotas()) loop.add(metadata.namespace ?? '')
  }

  readonly hook: AdmissionHook = {
    validate: ({ operation, type, subresource, namespace, name, object, old }) => {
      if (operation === 'DELETE' || subresource !== '' || !object || !this.#followed.has('resourcequotas')) return
      const { resource } = type
      const requested = usageOf(resource, type.toStored(object))
      const before = old ? usageOf(resource, type.toStored(old)) : {}
      const isRaised = (key: string) => quantityOf(requested[key]).nanos > quantityOf(before[key]).nanos
      for (const quota of this.#quotas(namespace).filter((each) => isInScope(each, resource, object))) {
        const { hard = {} } = quota.spec
        if (resource === 'pods' && !old)
          checkSpecified(hard, object.spec as PodSpec, (why) =>
            forbidden(type, name, `failed quota: ${quota.metadata.name}: ${why}`),
          )
        const raised = Object.keys(hard).filter(isRaised)
        // To count reads every object of the resource: what no quota limits costs nothing.
        if (raised.length === 0) continue
        const used = this.#used(quota, resource, name)
        const exceeded = raised.filter(
          (key) =>
            quantityOf(sum({ [key]: requested[key] ?? '0' }, { [key]: used[key] ?? '0' })[key]).nanos >
            quantityOf(hard[key]).nanos,
        )
        if (exceeded.length === 0) continue
        const show = (amounts: Amounts) =>
          exceeded
            .toSorted()
            .map((key) => `${key}=${amounts[key] ?? '0'}`)
            .join(',')
        throw forbidden(
          type,
          name,
          `exceeded quota: ${quota.metadata.name}, requested: ${show(requested)}, used: ${show(used)}, limited: ${show(hard)}`,
        )
      }
    },
  }

  #quotas(namespace?: string): readonly Quota[] {
    return this.#followed
      .of<Quota>('resourcequotas')
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
  }

  /** What the objects of a resource use, without the one that is being written. */
  #used(quota: Quota, resource: string, except?: string): Amounts {
    const records = this.#store.scan({
      resource,
      namespace: quota.metadata.namespace ?? '',
      limit: Number.MAX_SAFE_INTEGER,
    })
    return records
      .filter(({ name, document }) => name !== except && isInScope(quota, resource, document.value))
      .reduce((total, { document }) => sum(total, usageOf(resource, document.value)), {} as Amounts)
  }

  async #writeStatuses(namespace: string): Promise<void> {
    for (const quota of this.#quotas(namespace))
      await this.#writeStatus(quota).catch(ignoring('NotFound', 'Conflict', 'Forbidden'))
  }

  async #writeStatus(quota: Quota): Promise<void> {
    const { hard = {} } = quota.spec
    const resources = new Set(
      this.#server.kinds
        .all()
        .map(({ resource }) => resource)
        .filter((resource) => Object.keys(hard).some((key) => isCountedBy(key, resource))),
    )
    const all = [...resources].map((resource) => this.#used(quota, resource)).reduce(sum, {})
    const used = Object.fromEntries(Object.keys(hard).map((key) => [key, all[key] ?? '0']))
    const type = this.#server.kinds.ofResource('resourcequotas')
    if (!type || deepEqual(quota.status, { hard, used })) return
    const { name, namespace = '' } = quota.metadata
    const body = { status: { hard, used } }
    await this.#server.objects.patch({
      type,
      name,
      namespace,
      subresource: 'status',
      patchType: 'merge',
      body,
      user: controller,
    })
  }
}

const controller = { name: 'system:serviceaccount:kube-system:resourcequota-controller', groups: ['system:masters'] }

/** Whether objects of a resource can count for a name in a quota. */
function isCountedBy(key: string, resource: string): boolean {
  if (key.startsWith('count/')) return key === `count/${resource}`
  if (key === resource || key.startsWith(`${resource}.`)) return true
  if (/storage/.test(key) && !/ephemeral/.test(key)) return resource === 'persistentvolumeclaims'
  return resource === 'pods' && /^(?:requests\.|limits\.|cpu$|memory$|ephemeral-storage$)/.test(key)
}

/** A quota for cpu or memory needs every container to say how much it takes. */
function checkSpecified(
  hard: Amounts,
  { containers = [], initContainers = [] }: PodSpec,
  fault: (why: string) => Error,
): void {
  const missing = Object.keys(hard)
    .toSorted()
    .flatMap((key) => {
      const match = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(key)
      if (!match) return []
      const kind = match[1] === 'limits' ? 'limits' : 'requests'
      const names = [...containers, ...initContainers]
        .filter(({ resources }) => resources?.[kind]?.[match[2] ?? ''] === undefined)
        .map(({ name }) => name)
      return names.length > 0 ? [`${key} for: ${names.toSorted().join(',')}`] : []
    })
  if (missing.length > 0) throw fault(`must specify ${missing.join('; ')}`)
}
