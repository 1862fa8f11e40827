import { cleanerKinds } from '../../apis/cleaner-kinds.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { ownLabel } from '../../departures/subjects/own-machinery.ts'
import type { StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { keepRoutes, type KeepSubject } from '../../notices/keep-page.ts'
import { limitedChannel, noticeLimits, openChannel, type ChannelPorts } from '../../notices/open-channel.ts'
import { signedUrl } from '../../notices/signed-links.ts'
import type { Route } from '../../runtime/http/route.ts'
import { sharedSecret } from '../../runtime/sharing/shared-secret.ts'
import type { CleanerStatus, Model } from './decision/model.ts'
import { readModel } from './decision/read-model.ts'
import { isCommitted } from './decision/recorded-decision.ts'
import { currentWarning, type Warning } from './decision/warning.ts'
import type { Notices } from './ports.ts'

export interface WarningOptions extends ChannelPorts {
  readonly publicUrl: Notices['publicUrl']
  readonly dryRun: boolean
  /** Defaults to the real channels. */
  readonly openChannel?: typeof openChannel
}

/** How Cleaners tell people before they delete, and the page behind the link in the notice. */
export function createWarnings(options: WarningOptions): { notices: Notices; routes: readonly Route[] } {
  const { client, clock, publicUrl, dryRun, openChannel: open = openChannel } = options
  const place = { namespace: sojournNamespace, name: 'sojourn-cleaner-links', field: 'key', labels: ownLabel }
  const linkKey = () => sharedSecret(client, place)
  const limits = noticeLimits(options)
  return {
    notices: { openChannel: (channel) => limitedChannel(open(channel, options), limits), publicUrl, linkKey },
    routes: keepRoutes('/cleaners/keep/:group/:namespace/:name', {
      noun: 'Cleaner',
      clock,
      linkKey,
      dryRun,
      find: (params) => find(client, params),
    }),
  }
}

/** A link that keeps a Cleaner, and with it its targets, once and without an account. */
export function keepUrl(
  base: string,
  key: string,
  { self, model, warning }: { readonly self: StoredObject; readonly model: Model; readonly warning: Warning },
): string {
  const expires = Math.floor(keptUntil(model, warning) / 1000)
  return signedUrl(base, key, { ...linkOf(self), generation: numberOf(warning), expires })
}

function linkOf({ apiVersion, metadata }: StoredObject): KeepSubject['link'] {
  const { namespace = '', name, uid } = metadata
  const place = [apiVersion.split('/')[0] ?? '', namespace, name]
  return { path: `/cleaners/keep/${place.map(encodeURIComponent).join('/')}`, identity: [...place, uid] }
}

/** One keep moves the deletion by `warn.before`; it is announced anew. */
function keptUntil({ warn }: Model, { date }: Warning): number {
  return (parseTime(date) ?? 0) + (warn?.beforeMs ?? 0)
}

function numberOf({ announcedAt }: Warning): number {
  return (parseTime(announcedAt) ?? 0) / 1000
}

async function find(client: Client, params: Readonly<Record<string, string>>): Promise<KeepSubject | undefined> {
  const { group, namespace = '', name = '' } = params
  const type = cleanerKinds.find((kind) => kind.type.group === group)?.type
  const self = type && (await client.get<StoredObject>(type, { namespace, name }).catch(ignoring('NotFound')))
  if (!self) return undefined
  const reading = readModel(self)
  const warning = currentWarning(self)
  const { conditions = [], ...status } = (self.status ?? {}) as CleanerStatus
  const until = 'model' in reading && warning ? keptUntil(reading.model, warning) : 0
  return {
    title: `${self.kind} ${namespace}/${name}`,
    link: linkOf(self),
    instead: 'set <code>spec.suspend</code> of the Cleaner',
    isDeleting: self.metadata.deletionTimestamp !== undefined || isCommitted(self),
    announcement: warning && { generation: numberOf(warning), date: parseTime(warning.date) ?? 0 },
    because: conditions.find((each) => each.type === 'Ready')?.message ?? '',
    until: () => Promise.resolve(until),
    // In the status: a revert of the spec by a GitOps tool undoes no person's keep. A decision made meanwhile makes this write fail.
    keep: () => client.updateStatus(type, self, { ...status, conditions, keptUntil: formatTime(until) }),
  }
}
