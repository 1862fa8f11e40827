import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { signedUrl } from '../../../notices/signed-links.ts'
import { sharedSecret } from '../../../runtime/sharing/shared-secret.ts'
import type { ResourceRef } from '../verdict/provider.ts'

/** The path of a candidate's opt-out page. */
export function optOutPath(candidate: string): string {
  return `/janitor/opt-out/${encodeURIComponent(candidate)}`
}

/** The page of a candidate, and the one resource that its links can opt out. */
export function optOutSubject(candidate: string, resource: ResourceRef) {
  const { provider, cluster = '', account = '', region = '', apiVersion, kind, namespace = '', name, uid } = resource
  const identity = [provider, cluster, account, region, apiVersion, kind, namespace, name, uid]
  return { path: optOutPath(candidate), identity }
}

export const listPath = '/janitor/keep'

/** The list of everything that a policy has marked of an owner: its bearer can keep these resources and no others. */
export function listSubject(policy: string, owner: string) {
  return { path: listPath, identity: ['list', policy, owner] }
}

/** A link to that list. */
export function listLink(
  base: string,
  key: string,
  { policy, owner, expires }: { readonly policy: string; readonly owner: string; readonly expires: number },
): string {
  const url = signedUrl(base, key, { ...listSubject(policy, owner), generation: 0, expires })
  return `${url}&${new URLSearchParams({ policy, owner }).toString()}`
}

/** The key that signs links, shared by all replicas; created when there is none. */
export function linkKey(client: Client): Promise<string> {
  return sharedSecret(client, {
    namespace: sojournNamespace,
    name: 'sojourn-janitor-links',
    field: 'key',
    labels: ownLabel,
  })
}
