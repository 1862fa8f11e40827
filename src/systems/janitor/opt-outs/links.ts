import { createHmac, timingSafeEqual } from 'node:crypto'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { sharedSecret } from '../../../runtime/sharing/shared-secret.ts'
import type { ResourceRef } from '../verdict/provider.ts'

/** What an opt-out link identifies and signs. */
export interface LinkSubject {
  readonly candidate: string
  readonly resource: ResourceRef
  readonly generation: number
  /** Epoch seconds. */
  readonly expires: number
}

export type LinkVerdict = 'good' | 'expired' | 'forged'

/** The path of a candidate's opt-out page. */
export function optOutPath(candidate: string): string {
  return `/janitor/opt-out/${encodeURIComponent(candidate)}`
}

/** A signed link with which its bearer can opt out this one resource, until it expires. */
export function optOutUrl(base: string, key: string, subject: LinkSubject): string {
  const { candidate, generation, expires } = subject
  const query = new URLSearchParams({
    generation: String(generation),
    expires: String(expires),
    signature: signatureOf(key, subject),
  })
  return `${base.replace(/\/$/, '')}${optOutPath(candidate)}?${query.toString()}`
}

/** Whether a link was signed by this installation, for this resource, and has not expired. */
export function checkLink(
  key: string,
  subject: LinkSubject,
  { signature, now }: { readonly signature: string; readonly now: number },
): LinkVerdict {
  const expected = Buffer.from(signatureOf(key, subject), 'utf8')
  const given = Buffer.from(signature, 'utf8')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return 'forged'
  return now < subject.expires * 1000 ? 'good' : 'expired'
}

function signatureOf(key: string, { candidate, resource, generation, expires }: LinkSubject): string {
  const { provider, cluster = '', account = '', region = '', apiVersion, kind, namespace = '', name, uid } = resource
  const identity = JSON.stringify([provider, cluster, account, region, apiVersion, kind, namespace, name, uid])
  return createHmac('sha256', key)
    .update(['POST', optOutPath(candidate), identity, generation, expires].join('\n'))
    .digest('hex')
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
