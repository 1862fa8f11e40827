import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment, type Environment } from '../../apis/environment.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel } from '../../departures/subjects/own-machinery.ts'
import { namespaces } from '../../kube/core-types.ts'
import type { Place, ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { escapeHtml } from '../../notices/html.ts'
import { keepRoutes, type KeepPorts, type KeepSubject } from '../../notices/keep-page.ts'
import { signedUrl } from '../../notices/signed-links.ts'
import type { Route } from '../../runtime/http/route.ts'
import { sharedSecret } from '../../runtime/sharing/shared-secret.ts'
import { dueSentences } from './decision/describe.ts'
import { readClass } from './decision/rules.ts'

export interface EnvironmentKeepPorts extends Pick<KeepPorts, 'clock' | 'linkKey' | 'dryRun'> {
  readonly client: Client
}

/** The key that signs keep links, shared by all replicas; created when there is none. */
export function keepLinkKey(client: Client): Promise<string> {
  const place = { namespace: sojournNamespace, name: 'sojourn-environment-links', field: 'key', labels: ownLabel }
  return sharedSecret(client, place)
}

/** A link that keeps an environment once, without an account; undefined while it is not announced. */
export function keepUrl(
  base: string,
  key: string,
  self: Environment,
  keeps: { namespaceUid: string; extendMs: number },
) {
  const { announcement } = self.status ?? {}
  const date = parseTime(announcement?.date)
  if (!announcement || date === undefined) return undefined
  const expires = Math.floor((date + keeps.extendMs) / 1000)
  return signedUrl(base, key, { ...subjectOf(self, keeps.namespaceUid), generation: announcement.generation, expires })
}

function subjectOf({ metadata }: Environment, namespaceUid: string) {
  const { namespace = '', name, uid } = metadata
  return {
    path: `/environments/keep/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
    identity: [namespace, namespaceUid, uid],
  }
}

/** The page behind the link in a notice. */
export function keepPage(ports: EnvironmentKeepPorts): readonly Route[] {
  const find: KeepPorts['find'] = ({ namespace = '', name = '' }) => findKeepable(ports, { namespace, name })
  return keepRoutes('/environments/keep/:namespace/:name', { ...ports, noun: 'environment', find })
}

async function findKeepable(
  { client, clock }: EnvironmentKeepPorts,
  { namespace, name }: Required<Place>,
): Promise<KeepSubject | undefined> {
  const self = await client.get<Environment>(environment.type, { namespace, name }).catch(ignoring('NotFound'))
  const home = self && (await client.get(namespaces, { name: namespace }).catch(ignoring('NotFound')))
  if (!self || !home) return undefined
  const { announcement, deletion } = self.status ?? {}
  return {
    title: namespace,
    link: subjectOf(self, home.metadata.uid),
    instead: `run <code>sojourn keep ${escapeHtml(namespace)}</code>`,
    isDeleting: deletion !== undefined,
    announcement: announcement && { generation: announcement.generation, date: parseTime(announcement.date) ?? 0 },
    because: announcement ? dueSentences[announcement.reason] : '',
    until: async () => (await keptUntil(client, self, { from: parseTime(announcement?.date) ?? 0 })).until,
    // Stored in the status: a revert of the spec by a GitOps tool undoes no person's keep.
    keep(until) {
      const by = announcement?.owner ?? 'the link of a notice'
      const kept = { until: formatTime(until), by }
      const status = { kept, lastUsedAt: formatTime(clock.now()), lastUsedBy: 'Keep' }
      const body = { metadata: { resourceVersion: self.metadata.resourceVersion }, status }
      return client.merge(environment.type, { namespace, name }, body, { subresource: 'status' })
    },
  }
}

/** Until when a keep from a date keeps an environment, by `extendBy` unless said otherwise, and what `maxAge` allows at most. */
export async function keptUntil(
  client: Client,
  { metadata: { namespace = '' }, spec }: Environment,
  { from, forMs }: { readonly from: number; readonly forMs?: number | undefined },
): Promise<{ readonly until: number; readonly atMost: number | undefined }> {
  const read = <T>(type: ResourceType, name: string) =>
    client.get<T & StoredObject>(type, { name }).catch(ignoring('NotFound', 'Forbidden'))
  const found = await read<EnvironmentClass>(environmentClass.type, spec.className)
  const createdAt = parseTime((await read(namespaces, namespace))?.metadata.creationTimestamp)
  const { extendMs, maxAgeMs } = readClass(found?.spec ?? { namespaceSelector: {} }).rules
  const atMost = maxAgeMs === undefined || createdAt === undefined ? undefined : createdAt + maxAgeMs
  return { until: Math.min(from + (forMs ?? extendMs), atMost ?? Infinity), atMost }
}
