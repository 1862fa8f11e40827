import type { StoredObject } from '../../../../kube/object.ts'
import { matches, requirementsOf, type LabelSelector } from '../../../../kube/selector.ts'
import { kindAndName, namespacedName, type Detector, type ClusterView } from '../references/detector.ts'
import { used } from '../../model/resource.ts'
import { knownConsumerOf } from '../references/known-consumers.ts'
import { addNames, annotationTexts, mentionedIn, mentionsIn } from '../references/mentions.ts'
import {
  hasController,
  podSourceKinds,
  podSources,
  referencesOf,
  wordsOf,
  type PodSource,
} from '../references/pod-specs.ts'
import type { ReferrerKind } from '../references/referrer-types.ts'

/** Kinds that name ConfigMaps and Secrets in fields of many sorts: any text in them that is a name counts. */
const rareReferrers = [
  'ingresses',
  'ingressclasses',
  'persistentvolumes',
  'storageclasses',
  'validatingwebhooks',
  'mutatingwebhooks',
  'validatingbindings',
  'mutatingbindings',
  'apiservices',
] as const satisfies readonly ReferrerKind[]

/** Kinds that refer to them in fields of their own. */
const referrers = [...podSourceKinds, 'serviceaccounts', 'roles', 'clusterroles', 'customresourcedefinitions'] as const

/** ConfigMaps and Secrets: in use when a pod, a template or anything else that may refer to them names them. */
export const configurationDetector: Detector = {
  kinds: ['ConfigMap', 'Secret'],
  needs: [...referrers, ...rareReferrers],
  prepare(cluster) {
    const references = referencesIn(cluster)
    const mentions = rareReferrers.map((kind) => mentionsIn(cluster.list(kind)))
    const parameterOf = parametersIn(cluster)
    return (object) => {
      const { name, namespace } = object.metadata
      const by =
        references.get(`${object.kind}:${namespacedName(namespace, name)}`) ??
        references.get(namespacedName(namespace, name)) ??
        references.get(namespacedName(anywhere, name)) ??
        mentionedIn(mentions, name) ??
        parameterOf(object) ??
        builtInUse(object)
      return by ? used(by) : cluster.customUse(name)
    }
  },
}

/** Not a valid namespace name, so it cannot collide with one. */
const anywhere = '*'

/** References to ConfigMaps and Secrets. Informers return the same lists until they change, so each is read once. */
function referencesIn(cluster: ClusterView): ReadonlyMap<string, string> {
  const lists = referrers.map((kind) => cluster.list(kind))
  const [first = []] = lists
  const known = referencesByPods.get(first)
  if (known?.lists.every((list, index) => list === lists[index])) return known.references
  const references = readReferences(cluster)
  referencesByPods.set(first, { lists, references })
  return references
}

/** By the first of the lists: each cluster has its own. */
const referencesByPods = new WeakMap<
  readonly StoredObject[],
  { readonly lists: readonly (readonly StoredObject[])[]; readonly references: ReadonlyMap<string, string> }
>()

/** Who refers to what: under `Kind:namespace/name` where the kind is known, else under the place alone. */
function readReferences(cluster: ClusterView): ReadonlyMap<string, string> {
  const references = new Map<string, string>()
  const add = (kind: string, namespace: string | undefined, name: string, by: string) => {
    references.set(`${kind}:${namespacedName(namespace, name)}`, by)
  }
  for (const source of podSources(cluster)) {
    const { owner, namespace, spec } = source
    for (const { kind, name, where } of referencesOf(spec))
      if (!hasController(owner) || !references.has(`${kind}:${namespacedName(namespace, name)}`))
        add(kind, namespace, name, `${kindAndName(owner)} (${where})`)
    if (!hasTemplate(source))
      for (const place of placesIn(wordsOf(source), namespace)) references.set(place, kindAndName(owner))
  }
  for (const account of cluster.list('serviceaccounts')) {
    const { secrets = [], imagePullSecrets = [] } = account as unknown as {
      secrets?: { name?: string }[]
      imagePullSecrets?: { name?: string }[]
    }
    for (const { name } of [...secrets, ...imagePullSecrets])
      if (name) add('Secret', account.metadata.namespace, name, kindAndName(account))
  }
  for (const role of [...cluster.list('roles'), ...cluster.list('clusterroles')])
    for (const name of grantedNames(role))
      references.set(namespacedName(role.metadata.namespace ?? anywhere, name), kindAndName(role))
  for (const definition of cluster.list('customresourcedefinitions'))
    for (const place of placesIn(annotationTexts(definition.metadata.annotations), anywhere))
      references.set(place, kindAndName(definition))
  return references
}

/** A pod says in words what the template it was made from says, which is looked at as well. */
function hasTemplate({ owner }: PodSource): boolean {
  if (owner.kind !== 'Pod') return false
  const controller = owner.metadata.ownerReferences?.find((reference) => reference.controller)
  return controller !== undefined && ['ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job'].includes(controller.kind)
}

/** The places that words may mean: names here, and `namespace/name` anywhere. */
function placesIn(words: readonly string[], namespace: string): ReadonlySet<string> {
  const names = new Set<string>()
  const places = new Set<string>()
  for (const word of words) {
    addNames(names, word)
    for (const [place] of word.matchAll(anyPlace)) places.add(place)
  }
  for (const name of names) places.add(namespacedName(namespace, name))
  return places
}

const anyPlace = /[a-z0-9][a-z0-9-]*\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/g

/** The ConfigMaps and Secrets that a role grants access to by name: a program reads them by that name. */
function grantedNames(role: StoredObject): readonly string[] {
  const { rules } = role as { rules?: readonly { resources?: readonly string[]; resourceNames?: readonly string[] }[] }
  return (rules ?? []).flatMap(({ resources = [], resourceNames = [] }) =>
    resources.some((resource) => ['configmaps', 'secrets', '*'].includes(resource)) ? resourceNames : [],
  )
}

/** What admission policies are given as parameters by label; by name, their bindings mention it. */
function parametersIn(cluster: ClusterView): (object: StoredObject) => string | undefined {
  const bindings = [...cluster.list('validatingbindings'), ...cluster.list('mutatingbindings')].flatMap((binding) => {
    const { paramRef } = (binding.spec ?? {}) as { paramRef?: { selector?: LabelSelector; namespace?: string } }
    return paramRef?.selector
      ? [{ by: kindAndName(binding), ...paramRef, requirements: requirementsOf(paramRef.selector) }]
      : []
  })
  return ({ metadata }) =>
    bindings.find(
      ({ namespace = metadata.namespace, requirements }) =>
        namespace === metadata.namespace && matches(requirements, metadata.labels),
    )?.by
}

/** Objects that programs find by other means than a reference. */
function builtInUse(object: StoredObject): string | undefined {
  const { kind, metadata, type } = object
  const { name, annotations = {}, labels = {} } = metadata
  const consumer = knownConsumerOf(object)
  if (consumer !== undefined) return consumer
  const release = annotations['meta.helm.sh/release-name']
  if (release) return `Helm release ${release}`
  if (kind === 'ConfigMap') {
    if (name === 'kube-root-ca.crt' || name === 'openshift-service-ca.crt') return 'every pod'
    if (labels.owner === 'helm' || labels.OWNER === 'TILLER') return 'a Helm release'
    return annotations['control-plane.alpha.kubernetes.io/leader'] ? 'a leader election' : undefined
  }
  switch (type) {
    case 'kubernetes.io/service-account-token':
      return `ServiceAccount ${annotations['kubernetes.io/service-account.name'] ?? ''}`
    case 'helm.sh/release.v1':
      return 'a Helm release'
    case 'bootstrap.kubernetes.io/token':
      return 'the cluster itself'
    default:
      return undefined
  }
}
