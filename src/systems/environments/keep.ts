import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment, type Environment } from '../../apis/environment.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel } from '../../departures/subjects/own-machinery.ts'
import { namespaces } from '../../kube/core-types.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { escapeHtml } from '../../notices/html.ts'
import { keepRoutes, type KeepPorts, type KeepSubject } from '../../notices/keep-page.ts'
import { signedUrl } from '../../notices/signed-links.ts'
import type { Route } from '../../runtime/http/route.ts'
import { sharedSecret } from '../../runtime/sharing/shared-secret.ts'
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
export function keepUrl(base: string, key: string, { self, namespaceUid, extendMs }: Linked): string | undefined {
  const { announcement } = self.status ?? {}
  const date = parseTime(announcement?.date)
  if (!announcement || date === undefined) return undefined
  const expires = Math.floor((date + extendMs) / 1000)
  return signedUrl(base, key, { ...subjectOf(self, namespaceUid), generation: announcement.generation, expires })
}

interface Linked {
  readonly self: Environment
  readonly namespaceUid: string
  readonly extendMs: number
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
  const find = (params: Readonly<Record<string, string>>) => findKeepable(ports, params)
  return keepRoutes('/environments/keep/:namespace/:name', { ...ports, noun: 'environment', find })
}

async function findKeepable(
  { client, clock }: EnvironmentKeepPorts,
  { namespace = '', name = '' }: Readonly<Record<string, string>>,
): Promise<KeepSubject | undefined> {
  const self = await client.get<Environment>(environment.type, { namespace, name }).catch(ignoring('NotFound'))
  const home = self && (await client.get(namespaces, { name: namespace }).catch(ignoring('NotFound')))
  if (!self || !home) return undefined
  const { announcement, deletion, message = '' } = self.status ?? {}
  return {
    title: namespace,
    link: subjectOf(self, home.metadata.uid),
    instead: `run <code>sojourn keep ${escapeHtml(namespace)}</code>`,
    isDeleting: deletion !== undefined,
    announcement: announcement && { generation: announcement.generation, date: parseTime(announcement.date) ?? 0 },
    because: message,
    async until() {
      const place = { name: self.spec.className }
      const found = await client.get<EnvironmentClass>(environmentClass.type, place).catch(ignoring('NotFound'))
      return keptUntil(self, parseTime(home.metadata.creationTimestamp) ?? 0, found)
    },
    // Stored in the status: a revert of the spec by a GitOps tool undoes no person's keep.
    keep(until) {
      const by = announcement?.owner ?? 'the link of a notice'
      const kept = { until: formatTime(until), by }
      const status = { kept, lastUsedAt: formatTime(clock.now()), lastUsedBy: 'Keep' }
      const body = { metadata: { resourceVersion: self.metadata.resourceVersion }, status }
      return client.patch(environment.type, { namespace, name }, { type: 'merge', body }, { subresource: 'status' })
    },
  }
}

/** Until when one keep keeps an environment: by `extendBy` from the announced date, at most to `maxAge`. */
function keptUntil({ status }: Environment, createdAt: number, found: EnvironmentClass | undefined): number {
  const rules = found && readClass(found.spec).rules
  const wanted = (parseTime(status?.announcement?.date) ?? 0) + (rules?.extendMs ?? 259_200_000)
  return rules?.maxAgeMs === undefined ? wanted : Math.min(wanted, createdAt + rules.maxAgeMs)
}
