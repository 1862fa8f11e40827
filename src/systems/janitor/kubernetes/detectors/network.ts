import type { StoredObject } from '../../../../kube/object.ts'
import { matches, requirementsOf, type LabelSelector } from '../../../../kube/selector.ts'
import type { Use } from '../../resource.ts'
import { called, placeKey, unknownUse, unused, used, type Detector, type World } from '../detector.ts'
import { podSourceKinds, podSources } from '../pod-specs.ts'
import { mentionedIn, mentionsIn } from '../mentions.ts'

/** Services: unused without endpoints, unless a workload that is asleep or an admission webhook stands behind them. */
export const serviceDetector: Detector = {
  kinds: ['Service'],
  needs: [...podSourceKinds, 'endpoints', 'endpointslices', 'validatingwebhooks', 'mutatingwebhooks', 'apiservices'],
  prepare(world) {
    const served = servedIn(world)
    const mentions = (['validatingwebhooks', 'mutatingwebhooks', 'apiservices'] as const).map((kind) =>
      mentionsIn(world.list(kind)),
    )
    const pods = podsByNamespace(world)
    return (object) => {
      const { name, namespace = '', annotations = {} } = object.metadata
      const { selector, type } = object.spec as { selector?: Record<string, string>; type?: string }
      if (type === 'ExternalName') return used('a name outside the cluster')
      if (namespace === 'default' && name === 'kubernetes') return used('the cluster itself')
      if (Object.keys(annotations).some((key) => key.startsWith('proxless/'))) return used('callers that wake it')
      const by = served.get(placeKey(namespace, name)) ?? mentionedIn(mentions, name)
      if (by) return used(by)
      const behind =
        selector &&
        pods.get(namespace)?.find(({ labels }) => matches(requirementsOf({ matchLabels: selector }), labels))
      return behind ? used(called(behind.owner)) : unused('it has no endpoints')
    }
  },
}

/** Services with at least one endpoint, ready or not. */
function servedIn(world: World): ReadonlyMap<string, string> {
  const served = new Map<string, string>()
  for (const { metadata, endpoints } of world.list('endpointslices')) {
    const service = metadata.labels?.['kubernetes.io/service-name']
    if (service && Array.isArray(endpoints) && endpoints.length > 0)
      served.set(placeKey(metadata.namespace, service), `${endpoints.length} endpoints`)
  }
  for (const { metadata, subsets } of world.list('endpoints'))
    if (Array.isArray(subsets) && subsets.length > 0)
      served.set(placeKey(metadata.namespace, metadata.name), 'its Endpoints')
  return served
}

interface Selectable {
  readonly owner: StoredObject
  readonly labels: Readonly<Record<string, string>>
}

function podsByNamespace(world: World): ReadonlyMap<string, readonly Selectable[]> {
  return Map.groupBy(podSources(world), ({ namespace }) => namespace)
}

/** Ingresses: dangling when none of the Services they send to exists. */
export const ingressDetector: Detector = {
  kinds: ['Ingress.networking.k8s.io'],
  needs: ['services'],
  prepare(world) {
    const services = new Set(world.list('services').map(({ metadata }) => placeKey(metadata.namespace, metadata.name)))
    return ({ metadata, spec }) => {
      const { defaultBackend, rules = [] } = spec as IngressSpec
      const backends = [
        defaultBackend,
        ...rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend)),
      ]
      const present = backends.filter((backend) => backend !== undefined)
      if (present.some(({ service }) => !service)) return unknownUse('it sends to something that is not a Service')
      const found = present.find(({ service }) => services.has(placeKey(metadata.namespace, service?.name ?? '')))
      return found ? used(`Service ${found.service?.name}`) : unused('none of its Services exists')
    }
  },
}

interface IngressSpec {
  readonly defaultBackend?: Backend
  readonly rules?: readonly { readonly http?: { readonly paths?: readonly { readonly backend?: Backend }[] } }[]
}

interface Backend {
  readonly service?: { readonly name?: string }
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
  prepare(world) {
    const targets = new Set<string>()
    for (const kind of Object.values(scalable))
      for (const object of world.list(kind))
        targets.add(`${object.kind}:${placeKey(object.metadata.namespace, object.metadata.name)}`)
    return ({ metadata, spec }) => {
      const { kind = '', name = '' } =
        (spec as { scaleTargetRef?: { kind?: string; name?: string } }).scaleTargetRef ?? {}
      if (!Object.hasOwn(scalable, kind)) return unknownUse(`it scales a ${kind}`)
      return targets.has(`${kind}:${placeKey(metadata.namespace, name)}`)
        ? used(`${kind} ${name}`)
        : unused(`${kind} ${name} does not exist`)
    }
  },
}

/** Disruption budgets and network policies: dangling when they select no pod and no template. */
export const podSelectorDetector: Detector = {
  kinds: ['PodDisruptionBudget.policy', 'NetworkPolicy.networking.k8s.io'],
  needs: podSourceKinds,
  prepare(world) {
    const pods = podsByNamespace(world)
    return ({ kind, metadata, spec }): Use => {
      const { selector, podSelector } = spec as { selector?: LabelSelector; podSelector?: LabelSelector }
      const requirements = requirementsOf((kind === 'NetworkPolicy' ? podSelector : selector) ?? {})
      if (requirements.length === 0) return used('every pod of its namespace')
      const found = pods.get(metadata.namespace ?? '')?.find(({ labels }) => matches(requirements, labels))
      return found ? used(called(found.owner)) : unused('it selects nothing')
    }
  },
}
