import type { StoredObject } from '../../../../kube/object.ts'
import { called, placeKey, used, type Detector, type World } from '../detector.ts'
import { mentionedIn, mentionsIn } from '../mentions.ts'
import { podSourceKinds, podSources, referencesOf } from '../pod-specs.ts'
import type { WellKnown } from '../well-known.ts'

/** Kinds that name ConfigMaps and Secrets in fields of many sorts: any text in them that is a name counts. */
const rareReferrers = [
  'ingresses',
  'persistentvolumes',
  'storageclasses',
  'validatingwebhooks',
  'mutatingwebhooks',
  'apiservices',
] as const satisfies readonly WellKnown[]

/** Kinds that refer to them in fields of their own. */
const referrers = [...podSourceKinds, 'serviceaccounts'] as const

/** ConfigMaps and Secrets: in use when a pod, a template or anything else that may refer to them names them. */
export const configurationDetector: Detector = {
  kinds: ['ConfigMap', 'Secret'],
  needs: [...referrers, ...rareReferrers],
  prepare(world) {
    const references = referencesIn(world)
    const mentions = rareReferrers.map((kind) => mentionsIn(world.list(kind)))
    return (object) => {
      const { name, namespace } = object.metadata
      const by =
        references.get(`${object.kind}:${placeKey(namespace, name)}`) ??
        mentionedIn(mentions, name) ??
        builtInUse(object)
      return by ? used(by) : world.customUse(name)
    }
  },
}

/** References to ConfigMaps and Secrets. Lists stay the same until they change, and are looked through once. */
function referencesIn(world: World): ReadonlyMap<string, string> {
  const lists = referrers.map((kind) => world.list(kind))
  const [first = []] = lists
  const known = referencesByPods.get(first)
  if (known?.lists.every((list, index) => list === lists[index])) return known.references
  const references = readReferences(world)
  referencesByPods.set(first, { lists, references })
  return references
}

/** By the first of the lists: each cluster has its own. */
const referencesByPods = new WeakMap<
  readonly StoredObject[],
  { readonly lists: readonly (readonly StoredObject[])[]; readonly references: ReadonlyMap<string, string> }
>()

function readReferences(world: World): ReadonlyMap<string, string> {
  const references = new Map<string, string>()
  const add = (kind: string, namespace: string | undefined, name: string, by: string) => {
    references.set(`${kind}:${placeKey(namespace, name)}`, by)
  }
  for (const { owner, namespace, spec } of podSources(world)) {
    const { configMaps, secrets } = referencesOf(spec)
    for (const name of configMaps) add('ConfigMap', namespace, name, called(owner))
    for (const name of secrets) add('Secret', namespace, name, called(owner))
  }
  for (const account of world.list('serviceaccounts')) {
    const { secrets = [], imagePullSecrets = [] } = account as unknown as {
      secrets?: { name?: string }[]
      imagePullSecrets?: { name?: string }[]
    }
    for (const { name } of [...secrets, ...imagePullSecrets])
      if (name) add('Secret', account.metadata.namespace, name, called(account))
  }
  return references
}

/** Objects that programs find by other means than a reference. */
function builtInUse({ kind, metadata, type }: StoredObject): string | undefined {
  const { name, annotations = {} } = metadata
  if (kind === 'ConfigMap') {
    if (name === 'kube-root-ca.crt') return 'every pod'
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
