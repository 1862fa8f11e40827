import { Client } from '../client/client.ts'
import { parseKubeconfig } from '../client/kubeconfig.ts'
import { networkTransport } from '../client/network-transport.ts'
import { placeOf } from '../kube/object.ts'
import type { Transport } from '../kube/transport.ts'
import type { Outgoing } from '../runtime/http/outgoing.ts'
import { cleaner } from '../apis/cleaner.ts'
import { quietClock } from '../runtime/time/quiet-clock.ts'
import type { VirtualClock } from '../runtime/time/virtual-clock.ts'
import { SilentDataPlane } from '../systems/activator/proxy/planes/silent-data-plane.ts'
import { cleanupWords, type Notice } from '../notices/notice.ts'
import { openChannel } from '../notices/open-channel.ts'
import { startCopy, readSnapshot } from './cluster-snapshot.ts'
import type { ForecastEvent } from './event.ts'
import type { RecordedForge } from './recorded-forge.ts'
import type { StartOptions } from '../systems/activator/start-activator.ts'
import type { AccountantOptions } from '../systems/savings/accountant.ts'
import type { CleanerOptions } from '../systems/cleaner/controller.ts'
import type { WarningOptions } from '../systems/cleaner/keep.ts'
import type { CreateOptions as EnvironmentsOptions } from '../systems/environments/environments.ts'
import type { JanitorOptions } from '../systems/janitor/janitor.ts'
import type { PromoterOptions } from '../systems/promoter/controller.ts'
import type { ClustersPorts } from '../runtime/clusters/clusters.ts'
import type { Subject } from '../departures/subjects/subject.ts'
import type { Clock } from '../runtime/time/clock.ts'
import type { Observation, Provider } from '../systems/janitor/verdict/provider.ts'
import type { Resource } from '../systems/janitor/model/resource.ts'

export interface RecordingPorts {
  readonly clock: VirtualClock
  readonly forge: RecordedForge
  readonly record: (event: ForecastEvent) => void
  readonly onUnread: (what: string) => void
  /** Opens connections to the clusters that GitopsClusters name: any tenant may have written one. */
  readonly kubeconfigs: Outgoing
  readonly onClose: (close: () => Promise<void>) => void
}

/** Records what systems would send instead of sending it. Clouds and other clusters are read once, never written. */
export function recordedPorts(ports: RecordingPorts): ExternalPorts {
  const { clock, forge, record, onUnread } = ports
  const recorded: typeof openChannel = (channel, channelPorts) => {
    const real = openChannel(channel, channelPorts)
    const { type } = channel.spec
    return {
      ...real,
      send(notice) {
        const to = notice.to.length > 0 ? notice.to : [real.name]
        for (const event of noticeEvents(notice, { at: clock.now(), to, channel: `${type} ${real.name}` }))
          record(event)
        return Promise.resolve({ accepted: to, rejected: [] })
      },
    }
  }
  const unreachable = () => Promise.reject(new Error('a forecast calls no forge'))
  return {
    cleaner: {
      openChannel: recorded,
      send(sink, { headers, body }) {
        const { name, namespace } = JSON.parse(body) as { readonly name: string; readonly namespace: string }
        record({
          at: clock.now(),
          what: 'told',
          system: 'cleaner',
          object: { apiVersion: cleaner.apiVersion, kind: cleaner.kind, namespace, name },
          because: headers['ce-type'] ?? 'deleted',
          why: 'all its targets are deleted',
          to: [sink],
          channel: 'CloudEvent',
        })
        return Promise.resolve()
      },
    },
    environments: { openChannel: recorded, http: { class: unreachable, environment: unreachable }, assumesPulls: true },
    janitor: {
      openChannel: recorded,
      withoutLeases: true,
      wrapCloud: (cloud) => recordedCloud(cloud, { clock, onUnread }),
    },
    promoter: { perform: forge.perform, adjustTarget: forge.adjustTarget, resync: false },
    activator: { plane: new SilentDataPlane(), scanMs: 0 },
    // Counted at each change; a write a day is enough.
    savings: { flushMs: 86_400_000, askPrices: undefined },
    connectCluster: (kubeconfig, cluster) => copyCluster(kubeconfig, cluster, ports),
  }
}

function noticeEvents(
  { kind, policy, items, words = cleanupWords }: Notice,
  told: Pick<ForecastEvent, 'at' | 'to' | 'channel'>,
): readonly ForecastEvent[] {
  return items.map(({ kind: resource, namespace, name, object, reasons, deletionAt }) => ({
    ...told,
    what: 'told',
    system: words.component,
    object: object ?? { apiVersion: '', kind: resource, ...placeOf({ name, namespace }) },
    because: kind,
    why: reasons.join('; '),
    by: `${words.kind}/${policy}`,
    leavesAt: deletionAt,
  }))
}

const maxBytes = 32 * 1024 * 1024
const withinMs = 10_000

/** Copies another cluster into memory, as the first one: writes go to the copy. */
async function copyCluster(
  kubeconfig: string,
  cluster: string,
  { clock, onUnread, onClose, kubeconfigs }: RecordingPorts,
): Promise<Client> {
  const config = await parseKubeconfig(kubeconfig, {
    now: () => Date.now(),
    env: process.env,
    origin: `the kubeconfig of cluster ${cluster}`,
  })
  const network = networkTransport(config, { userAgent: 'sojourn-forecast', agents: kubeconfigs, maxBytes })
  const answeringSoon: Transport = (request) => network.transport({ ...request, signal: AbortSignal.timeout(withinMs) })
  try {
    const copy = await clock.track(async () => {
      const snapshot = await readSnapshot(new Client(answeringSoon), () => void clock.breathe())
      for (const kind of snapshot.unread) onUnread(`cluster ${cluster}: ${kind}`)
      return startCopy(snapshot, quietClock(clock), cluster)
    })
    onClose(async () => copy[Symbol.asyncDispose]())
    return copy.client
  } catch (error) {
    onUnread(`cluster ${cluster}: ${(error as Error).message}`)
    throw error
  } finally {
    network.close()
  }
}

/** How systems reach the world outside their cluster. A missing port means the network; a forecast replaces them all. */
export interface ExternalPorts {
  readonly cleaner?: Pick<CleanerOptions, 'send'> & Pick<WarningOptions, 'openChannel'>
  readonly janitor?: Pick<JanitorOptions, 'openChannel' | 'wrapCloud' | 'withoutLeases'>
  readonly environments?: Pick<EnvironmentsOptions, 'openChannel' | 'http' | 'assumesPulls'>
  readonly promoter?: Pick<PromoterOptions, 'perform' | 'adjustTarget' | 'resync'>
  readonly savings?: Pick<AccountantOptions, 'flushMs' | 'askPrices'>
  readonly activator?: Pick<StartOptions, 'plane' | 'scanMs'>
  readonly connectCluster?: ClustersPorts['connect']
}

/** A cloud provider for a forecast: reads the real cloud once; deletions only hide a resource from then on. */
function recordedCloud(
  cloud: Provider,
  { clock, onUnread }: { readonly clock: Clock; readonly onUnread: (what: string) => void },
): Provider {
  const observations = new Map<string, Promise<Observation>>()
  const unreadable = new Set<string>()
  const present = new Map<string, Resource>()
  const keyOf = ({ kind, name, account = '', region = '' }: Pick<Resource, 'kind' | 'name' | 'account' | 'region'>) =>
    `${account}/${region}/${kind.toLowerCase()}/${name}`

  async function observe(request: Parameters<Provider['observe']>[0]): Promise<Observation> {
    try {
      const observation = await cloud.observe(request)
      for (const resource of observation.resources) present.set(keyOf(resource), resource)
      return observation
    } catch (error) {
      // Nothing is deleted in a location that cannot be read, so it is not read again.
      unreadable.add(request.location)
      onUnread(`${request.location}: ${(error as Error).message}`)
      throw error
    }
  }

  return {
    name: cloud.name,
    locations: (policy) => cloud.locations(policy).filter((location) => !unreadable.has(location)),
    async observe(request) {
      const key = `${request.policy.name}\n${request.policy.generation}\n${request.location}`
      const seen = await observations.getOrInsertComputed(key, () => observe(request))
      const resources = seen.resources.filter((resource) => present.has(keyOf(resource)))
      return { ...seen, resources, observedAt: clock.now() }
    },
    subject: (ref) => Promise.resolve(recordedSubject(present, keyOf(ref))),
    setNeverExpires: (ref) => Promise.resolve(present.has(keyOf(ref))),
    close: () => cloud.close(),
  }
}

function recordedSubject(present: Map<string, Resource>, key: string): Subject {
  const resource = present.get(key)
  const { cluster = '', apiVersion = '', kind = '', name = '' } = resource ?? {}
  return {
    cluster,
    ref: { apiVersion, kind, name },
    read: () => Promise.resolve(present.get(key)?.object),
    remove() {
      present.delete(key)
      return Promise.resolve('gone')
    },
    countKind: () =>
      Promise.resolve(
        present.values().reduce((sum, other) => sum + Number(other.kind === kind && other.cluster === cluster), 0),
      ),
  }
}
