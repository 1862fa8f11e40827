import type { Subject } from '../departures/subjects/subject.ts'
import type { Clock } from '../runtime/time/clock.ts'
import type { Observation, Provider } from '../systems/janitor/verdict/provider.ts'
import type { Resource } from '../systems/janitor/model/resource.ts'

/** A cloud provider for a forecast: reads the real cloud once; deletions only hide a resource from then on. */
export function recordedCloud(
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
      const known = observations.get(key) ?? observe(request)
      observations.set(key, known)
      const seen = await known
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
