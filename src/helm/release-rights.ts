import { placeOf, type KubeObject, type ResourceType, type StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import type { Actor, Refusal } from '../tenancy/act-as.ts'
import { accessTo } from '../tenancy/confinement.ts'
import {
  digestOf,
  newestReadable,
  readHolders,
  refusalToRead,
  typeOfHolder,
  type ReleasePlace,
} from './release-holders.ts'
import { planUninstall, type UninstallPlan } from './uninstall-plan.ts'

/** A release, and who uninstalls it. */
export interface ReleaseActors extends ReleasePlace {
  /** Who deletes objects outside the namespace whose own annotations name the release. */
  readonly actorElsewhere: Actor
}

/** Whether the uninstall of a release may begin, and what it is then bound to. */
export type Preflight = { readonly refusal: Refusal } | { readonly digest: string; readonly isAbsent: boolean }

/** Asks before anything is recorded or deleted whether the identity behind the Cleaner may do all that the release asks for. */
export async function preflight(place: ReleaseActors): Promise<Preflight> {
  const refusal = await refusalToRead(place)
  if (refusal) return { refusal }
  const holders = await readHolders(place)
  const { record } = await newestReadable(holders, place)
  const refused = record && (await refusalOfPlan(place, { holders, plan: planUninstall(record) }))
  return refused ? { refusal: refused } : { digest: digestOf(record), isAbsent: holders.length === 0 }
}

/**
 * Why the identity may not carry out this plan: it needs `patch` and `delete` on the records, `delete` on each object and `create`
 * on each hook. Hooks are confined to the namespace, for every identity.
 */
export async function refusalOfPlan(
  place: ReleaseActors,
  { holders, plan }: { readonly holders: readonly StoredObject[]; readonly plan: UninstallPlan },
): Promise<Refusal | undefined> {
  const { actor, release } = place
  for (const holder of holders) {
    for (const verb of ['patch', 'delete']) {
      const refusal = await actor.refusalOf(accessTo(verb, typeOfHolder(holder), holder.metadata))
      if (refusal) return refusal
    }
  }
  if (!release.disableHooks)
    for (const { object } of [...plan.before, ...plan.after]) {
      const refusal = await refusalOfHook(place, object)
      if (refusal) return refusal
    }
  for (const object of plan.objects) {
    const refusal = await refusalOfResource(place, object)
    if (refusal) return refusal
  }
  return undefined
}

async function refusalOfHook({ client, actor, namespace }: ReleaseActors, hook: KubeObject) {
  const type = await client.discovery.typeOf(hook)
  if (!type) return undefined
  // A review of `create` has no name: no rule can grant it by name.
  const { name: _, ...at } = placeOf(withNamespace(type, hook, namespace).metadata)
  return actor.refusalOf(accessTo('create', type, at))
}

async function refusalOfResource(place: ReleaseActors, manifest: KubeObject): Promise<Refusal | undefined> {
  const { client, namespace } = place
  const type = await client.discovery.typeOf(manifest)
  if (!type) return undefined
  const at = placeOf(withNamespace(type, manifest, namespace).metadata)
  if (at.namespace === namespace) return place.actor.refusalOf(accessTo('delete', type, at))
  // What does not belong to the release is kept anyway.
  const found = await client.get<StoredObject>(type, at).catch(ignoring('NotFound'))
  return found && belongsToRelease(found, place) ? refusalToDelete(place, type, found) : undefined
}

/** Why the identity may not delete an object of the release. Outside the namespace it must belong to the release. */
export function refusalToDelete(
  { actor, actorElsewhere, namespace, release }: Omit<ReleaseActors, 'client'>,
  type: ResourceType,
  object: StoredObject,
): Promise<Refusal | undefined> {
  const isElsewhere = object.metadata.namespace !== namespace && belongsToRelease(object, { namespace, release })
  return (isElsewhere ? actorElsewhere : actor).refusalOf(accessTo('delete', type, object.metadata))
}

/**
 * Any tenant of the namespace can write a release record. So outside the namespace an object is deleted only if its own annotations
 * name this release, and inside it only if they name no other release.
 */
export function belongsToRelease(
  { metadata }: StoredObject,
  { namespace, release }: Pick<ReleasePlace, 'namespace' | 'release'>,
): boolean {
  const name = metadata.annotations?.['meta.helm.sh/release-name']
  const releaseNamespace = metadata.annotations?.['meta.helm.sh/release-namespace']
  const namesRelease = name === release.name && releaseNamespace === namespace
  return metadata.namespace === namespace ? namesRelease || name === undefined : namesRelease
}

/** The manifest with its namespace filled in. */
export function withNamespace(type: ResourceType, manifest: KubeObject, namespace: string): KubeObject {
  if (!type.namespaced || manifest.metadata.namespace) return manifest
  return { ...manifest, metadata: { ...manifest.metadata, namespace } }
}
