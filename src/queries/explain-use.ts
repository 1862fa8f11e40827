import type { StoredObject } from '../kube/object.ts'
import { kindAndName } from '../systems/janitor/kubernetes/references/detector.ts'
import { podSourceKinds, podSources, referencesOf } from '../systems/janitor/kubernetes/references/pod-specs.ts'
import { referrerTypes } from '../systems/janitor/kubernetes/references/referrer-types.ts'
import type { Explained } from './explain.ts'
import { Reader } from './reader.ts'

const kinds = new Set(['ConfigMap', 'Secret', 'PersistentVolumeClaim'])
const maxNamed = 5

/** Which Pods and pod templates of its namespace use a ConfigMap, Secret or claim, as far as the caller may read them. */
export async function explainUse(client: Reader['client'], { type, object }: Explained): Promise<readonly string[]> {
  const { namespace, name } = object.metadata
  if (type.group !== '' || !kinds.has(type.kind)) return []
  const reader = new Reader(client)
  const found = new Map<string, readonly StoredObject[]>()
  for (const kind of podSourceKinds) {
    const { kind: named } = referrerTypes[kind]
    const items = await reader.list<StoredObject>(referrerTypes[kind], { namespace })
    found.set(
      kind,
      items.filter(({ metadata }) => !metadata.ownerReferences?.length).map((item) => ({ ...item, kind: named })),
    )
  }
  const unknown = () => ({ state: 'unknown', because: '' }) as const
  const view = {
    list: (kind: string) => found.get(kind) ?? [],
    customUse: unknown,
    customUseIn: unknown,
    customUseOf: unknown,
  }
  const users = [...podSources(view)].flatMap(({ owner, spec }) => {
    const found = referencesOf(spec).find((reference) => reference.kind === type.kind && reference.name === name)
    return found ? [`${kindAndName(owner)} (${found.where})`] : []
  })
  if (users.length === 0) return []
  const more = users.length > maxNamed ? ` and ${users.length - maxNamed} more` : ''
  return [`it is in use by ${users.slice(0, maxNamed).join(', ')}${more}`]
}
