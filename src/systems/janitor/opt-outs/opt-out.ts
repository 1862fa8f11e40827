import { shortDigest } from '../../../kube/basics/short-digest.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import type { Client } from '../../../client/client.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { nameFrom } from '../../../kube/names.ts'
import { parseApiVersion, type KubeObject } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { cloudCluster } from '../verdict/protection.ts'
import type { ResourceRef } from '../verdict/provider.ts'

/** One name per resource: asking again finds the same opt-out. */
export function optOutName(resource: ResourceRef): string {
  const { provider, cluster = '', account = '', region = '', kind, namespace = '', name, uid } = resource
  const identity = JSON.stringify([provider, cluster, account, region, kind, namespace, name, uid])
  const digest = shortDigest(identity)
  return `keep-${nameFrom(`${kind}-${name}`).slice(0, 180)}-${digest}`
}

/** The name of an opt-out that names a resource by kind and name, without a uid. */
export function plainOptOutName({ apiVersion, kind, ...resource }: Omit<ResourceRef, 'uid' | 'provider'>): string {
  const { group } = parseApiVersion(apiVersion)
  // Kinds of different API groups may share a name.
  return optOutName({
    ...resource,
    apiVersion,
    kind: group ? `${kind}.${group}` : kind,
    provider: 'kubernetes',
    uid: '',
  })
}

/** The possible names of a resource's opt-out, whether a link, the dashboard or the CLI created it. */
export function optOutNames(resource: ResourceRef): readonly string[] {
  return [optOutName(resource), plainOptOutName(resource)]
}

export interface OptOutRequest {
  readonly by: string
  readonly reason?: string | undefined
  /** When it ends; undefined: never. */
  readonly until?: number | undefined
}

/** Opts a resource out of cleanup. Asking again changes nothing, unless that lasts longer; a revoked opt-out is renewed. */
export async function optOut(client: Client, resource: ResourceRef, request: OptOutRequest): Promise<CleanupOptOut> {
  const { by, until } = request
  const name = optOutName(resource)
  const existing = await client.get<CleanupOptOut>(cleanupOptOut.type, { name }).catch(ignoring('NotFound'))
  const endsAt = existing && (parseTime(existing.spec.expiresAt) ?? Infinity)
  if (existing && endsAt !== undefined && endsAt >= (until ?? Infinity)) return existing
  const expiresAt = until === undefined ? null : formatTime(until)
  if (existing)
    return client.merge<CleanupOptOut>(cleanupOptOut.type, { name }, { spec: { expiresAt, requestedBy: by } })
  const created = await client
    .create<CleanupOptOut>(cleanupOptOut.type, optOutObject(name, resource, request))
    .catch(ignoring('AlreadyExists'))
  return created ?? client.get<CleanupOptOut>(cleanupOptOut.type, { name })
}

/** Revokes opt-outs by ending them now; the objects stay as a record. Returns whether any was live. */
export async function optIn(client: Client, optOuts: readonly CleanupOptOut[], now: number): Promise<boolean> {
  const live = optOuts.filter((candidate) => isLiveOptOut(candidate, now))
  for (const { metadata } of live)
    await client.merge(cleanupOptOut.type, { name: metadata.name }, { spec: { expiresAt: formatTime(now) } })
  return live.length > 0
}

/** Whether an opt-out names this one resource. */
export function namesResource({ spec }: CleanupOptOut, ref: ResourceRef): boolean {
  const { resource } = spec
  if (!resource || resource.kind.toLowerCase() !== ref.kind.toLowerCase()) return false
  if (resource.uid !== undefined) return resource.uid === ref.uid
  const cluster = resource.cluster ?? (resource.provider === 'aws' ? cloudCluster(resource) : '')
  return (
    cluster === (ref.cluster ?? '') &&
    (resource.name ?? resource.id) === ref.name &&
    (resource.namespace ?? '') === (ref.namespace ?? '')
  )
}

/** Whether an opt-out by label may select this resource. Only the resource's labels can tell, and a mark has none. */
export function maySelect({ spec }: CleanupOptOut, { kind, namespace }: ResourceRef): boolean {
  const { selector } = spec
  if (!selector || selector.kind.toLowerCase() !== kind.toLowerCase()) return false
  return selector.namespace === undefined || selector.namespace === namespace
}

function optOutObject(
  name: string,
  resource: ResourceRef,
  { by, reason, until }: OptOutRequest,
): KubeObject & { readonly spec: CleanupOptOut['spec'] } {
  return cleanupOptOut.object(
    { name },
    {
      resource: { ...resource, ...(resource.provider === 'aws' ? { id: resource.name } : {}) },
      requestedBy: by.slice(0, 256),
      ...(reason ? { reason: reason.slice(0, 1024) } : {}),
      ...(until === undefined ? {} : { expiresAt: formatTime(until) }),
    },
  )
}
