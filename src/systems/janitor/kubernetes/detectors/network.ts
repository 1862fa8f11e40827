import type { StoredObject } from '../../../../kube/object.ts'
import { matches, requirementsOf, type LabelSelector } from '../../../../kube/selector.ts'
import { unknownUse, unused, used, type Use } from '../../model/resource.ts'
import { kindAndName, namespacedName, selectionUse, type Detector, type ClusterView } from '../references/detector.ts'
import { addNames, annotationTexts } from '../references/mentions.ts'
import { podSourceKinds, podSources, wordsOf } from '../references/pod-specs.ts'
import type { ReferrerKind } from '../references/referrer-types.ts'

/** Kinds by which the API server calls a Service. */
export const serverCallKinds = [
  'validatingwebhooks',
  'mutatingwebhooks',
  'apiservices',
  'customresourcedefinitions',
] as const satisfies readonly ReferrerKind[]

/** Services: unused without endpoints, unless a workload that is asleep or an admission webhook stands behind them. */
export const serviceDetector: Detector = {
  kinds: ['Service'],
  needs: [...podSourceKinds, 'endpoints', 'endpointslices', ...serverCallKinds, 'ingresses', 'services'],
  prepare(cluster) {
    const served = servedIn(cluster)
    const routed = routedIn(cluster)
    const called = calledByServer(cluster)
    const pods = podsByNamespace(cluster)
    return (object) => {
      const { name, namespace = '', annotations = {} } = object.metadata
      const { selector, externalName } = object.spec as ServiceSpec
      if (externalName !== undefined) return used(`callers that it sends to ${externalName}`)
      if (namespace === 'default' && name === 'kubernetes') return used('the cluster itself')
      if (Object.keys(annotations).some(wakes)) return used('callers that wake it')
      const place = namespacedName(namespace, name)
      const by = served.get(place) ?? routed.get(place) ?? called.get(place)
      if (by) return used(by)
      // A route of the Gateway API, or any other custom resource, may name it.
      const custom = cluster.customUse(name)
      if (custom.state !== 'unused') return custom
      if (!selector || Object.keys(selector).length === 0) return unused('it has no endpoints')
      const requirements = requirementsOf({ matchLabels: selector })
      const behind = pods.get(namespace)?.find(({ labels }) => matches(requirements, labels))
      return behind ? used(kindAndName(behind.owner)) : selectionUse(cluster, requirements, 'it has no endpoints')
    }
  },
}

/** Whether an annotation of a Service names what its callers wake. */
export function wakes(annotation: string): boolean {
  return annotation.startsWith('proxless/') || annotation === 'sojourn.dev/target'
}

interface Called {
  readonly clientConfig?: { readonly service?: ServiceRef }
}

interface ServiceRef {
  readonly namespace?: string
  readonly name?: string
}

/** Services that the API server calls: admission webhooks, aggregated APIs, conversions between versions. */
export function calledByServer(cluster: ClusterView): ReadonlyMap<string, string> {
  const called = new Map<string, string>()
  for (const object of serverCallKinds.flatMap((kind) => cluster.list(kind))) {
    const { service, conversion } = (object.spec ?? {}) as { service?: ServiceRef; conversion?: { webhook?: Called } }
    const { webhooks = [] } = object as { webhooks?: readonly Called[] }
    for (const ref of [service, ...[conversion?.webhook, ...webhooks].map((each) => each?.clientConfig?.service)])
      if (ref) called.set(namespacedName(ref.namespace, ref.name ?? ''), kindAndName(object))
  }
  return called
}

/** Services with at least one endpoint, ready or not. */
function servedIn(cluster: ClusterView): ReadonlyMap<string, string> {
  const served = new Map<string, string>()
  for (const { metadata, endpoints } of cluster.list('endpointslices')) {
    const service = metadata.labels?.['kubernetes.io/service-name']
    if (service && Array.isArray(endpoints) && endpoints.length > 0)
      served.set(namespacedName(metadata.namespace, service), `${endpoints.length} endpoints`)
  }
  for (const { metadata, subsets } of cluster.list('endpoints'))
    if (Array.isArray(subsets) && subsets.length > 0)
      served.set(namespacedName(metadata.namespace, metadata.name), 'its Endpoints')
  return served
}

interface ServiceSpec {
  readonly selector?: Record<string, string>
  readonly externalName?: string
}

/** Services that an Ingress, an ExternalName or a pod sends requests to: one without endpoints now may have some later. */
function routedIn(cluster: ClusterView): ReadonlyMap<string, string> {
  const routed = new Map<string, string>()
  const add = (from: StoredObject, text: string) => {
    for (const place of placesIn(text, from.metadata.namespace)) routed.set(place, kindAndName(from))
  }
  for (const service of cluster.list('services')) add(service, (service.spec as ServiceSpec).externalName ?? '')
  for (const ingress of cluster.list('ingresses')) {
    for (const text of annotationTexts(ingress.metadata.annotations)) add(ingress, text)
    for (const { service } of backendsOf(ingress)) add(ingress, service?.name ?? '')
  }
  for (const source of podSources(cluster))
    for (const host of wordsOf(source).flatMap(hostsIn))
      for (const place of placesIn(host, source.namespace)) routed.set(place, kindAndName(source.owner))
  return routed
}

/** What can only be meant as a host: that of a URL, and names of a cluster's Services. Any other word may mean anything. */
function hostsIn(text: string): readonly string[] {
  return [...text.matchAll(urlOrService)].map(([, ofUrl, ofService]) => ofUrl ?? ofService ?? '')
}

const urlOrService = /:\/\/(?:[^\s/@]*@)?([a-z0-9][a-z0-9.-]*)|\b([a-z0-9][a-z0-9-]*\.[a-z0-9-]+\.svc)\b/g

/** The Services that hosts in a text may mean: `web` here, `login` of `edge` in `http://login.edge.svc.cluster.local/check`. */
function placesIn(text: string, namespace: string | undefined): readonly string[] {
  const names = new Set<string>()
  addNames(names, text)
  return [...names].map((name) => {
    const [service = '', its] = name.split('.')
    return namespacedName(its ?? namespace, service)
  })
}

function backendsOf({ spec }: StoredObject): readonly Backend[] {
  const { defaultBackend, rules = [] } = (spec ?? {}) as IngressSpec
  const backends = [defaultBackend, ...rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend))]
  return backends.filter((backend) => backend !== undefined)
}

interface Selectable {
  readonly owner: StoredObject
  readonly labels: Readonly<Record<string, string>>
}

function podsByNamespace(cluster: ClusterView): ReadonlyMap<string, readonly Selectable[]> {
  return Map.groupBy(podSources(cluster), ({ namespace }) => namespace)
}

/** Ingresses: dangling when none of the Services they send to exists; what annotations make of callers is not known. */
export const ingressDetector: Detector = {
  kinds: ['Ingress.networking.k8s.io'],
  needs: ['services'],
  prepare(cluster) {
    const services = new Set(
      cluster.list('services').map(({ metadata }) => namespacedName(metadata.namespace, metadata.name)),
    )
    return (object) => {
      const { metadata } = object
      const present = backendsOf(object)
      if (present.length === 0) return unknownUse('it sends to nothing by itself')
      if (present.some(({ service }) => !service || service.port?.name === 'use-annotation'))
        return unknownUse('it sends to something that is not a Service')
      const answering = Object.keys(metadata.annotations ?? {}).find((key) => answers.test(key))
      if (answering !== undefined) return unknownUse(`${answering} may answer callers`)
      const found = present.find(({ service }) => services.has(namespacedName(metadata.namespace, service?.name ?? '')))
      return found ? used(`Service ${found.service?.name}`) : unused('none of its Services exists')
    }
  },
}

/** Annotations by which an Ingress answers without any Service: redirects, fixed answers, snippets, parts of other Ingresses. */
const answers = /(?<!ssl-)redirect|snippet|\/actions\.|mergeable-ingress|default-backend|middlewares/

interface IngressSpec {
  readonly defaultBackend?: Backend
  readonly rules?: readonly { readonly http?: { readonly paths?: readonly { readonly backend?: Backend }[] } }[]
}

interface Backend {
  readonly service?: { readonly name?: string; readonly port?: { readonly name?: string } }
}

const scalable = {
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  ReplicaSet: 'replicasets',
  ReplicationController: 'replicationcontrollers',
} as const

/** Autoscalers: dangling when what they scale does not exist. */
export const autoscalerDetector: Detector = {
  kinds: ['HorizontalPodAutoscaler.autoscaling'],
  needs: Object.values(scalable),
  prepare(cluster) {
    const targets = new Set<string>()
    for (const kind of Object.values(scalable))
      for (const object of cluster.list(kind))
        targets.add(`${object.kind}:${namespacedName(object.metadata.namespace, object.metadata.name)}`)
    return ({ metadata, spec }) => {
      const { kind = '', name = '', apiVersion = '' } = scaleTargetOf({ spec })
      const isOther = apiVersion.includes('/') && !/^(?:apps|extensions)\//.test(apiVersion)
      // There are other kinds of the same name, such as the StatefulSet of apps.kruise.io.
      if (!Object.hasOwn(scalable, kind) || isOther) return unknownUse(`it scales a ${kind} of ${apiVersion}`)
      return targets.has(`${kind}:${namespacedName(metadata.namespace, name)}`)
        ? used(`${kind} ${name}`)
        : unused(`${kind} ${name} does not exist`)
    }
  },
}

interface ScaleTarget {
  readonly apiVersion?: string
  readonly kind?: string
  readonly name?: string
}

/** What an autoscaler scales. */
export function scaleTargetOf({ spec }: Pick<StoredObject, 'spec'>): ScaleTarget {
  return ((spec ?? {}) as { scaleTargetRef?: ScaleTarget }).scaleTargetRef ?? {}
}

/** Disruption budgets and network policies: dangling when they select no pod and no template. */
export const podSelectorDetector: Detector = {
  kinds: ['PodDisruptionBudget.policy', 'NetworkPolicy.networking.k8s.io'],
  needs: podSourceKinds,
  prepare(cluster) {
    const pods = podsByNamespace(cluster)
    return ({ kind, metadata, spec }): Use => {
      const { selector, podSelector } = spec as { selector?: LabelSelector; podSelector?: LabelSelector }
      const requirements = requirementsOf((kind === 'NetworkPolicy' ? podSelector : selector) ?? {})
      if (requirements.length === 0) return used('every pod of its namespace')
      const found = pods.get(metadata.namespace ?? '')?.find(({ labels }) => matches(requirements, labels))
      return found ? used(kindAndName(found.owner)) : selectionUse(cluster, requirements, 'it selects nothing')
    }
  },
}
