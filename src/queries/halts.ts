import { sojournNamespace } from '../apis/group.ts'
import { doorStateName, doorStateOf } from '../departures/door/door-state.ts'
import type { Client } from '../client/client.ts'
import { isLeaseHeld, type LeaseObject } from '../departures/drain/drain.ts'
import { configMaps, leases } from '../kube/core-types.ts'
import type { StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { formatTime } from '../kube/time.ts'
import { switchesName } from '../systems/janitor/work/janitor-caches.ts'
import type { Reader } from './reader.ts'

/**
 * Why nothing is deleted at the moment, and how to change that, a sentence each; empty when deletions run. With the time: also whether no process is left that
 * would do anything.
 */
export async function haltsOf(reader: Reader, now?: number): Promise<readonly string[]> {
  const state = doorStateOf(
    await reader.get<StoredObject>(configMaps, { namespace: sojournNamespace, name: doorStateName }),
  )
  const since = state.openedAt === undefined ? '' : ` since ${formatTime(state.openedAt)}`
  const why = state.because ? `: ${state.because}` : ''
  const switches = { namespace: sojournNamespace, name: switchesName }
  const { data } = (await reader.get<{ data?: { paused?: string } }>(configMaps, switches)) ?? {}
  return [
    ...(now !== undefined && (await isStopped(reader.client, now))
      ? [
          `Sojourn does not run, so nothing happens in spite of the times: check "kubectl get pods -n ${sojournNamespace}"`,
        ]
      : []),
    ...(data?.paused !== undefined && data.paused !== 'false'
      ? ['The janitor is paused: it marks, notifies and deletes nothing; "sojourn janitor resume" resumes it']
      : []),
    ...(state.paused
      ? ['Nothing is deleted now: deletions are paused; "sojourn departures --resume" resumes them']
      : []),
    ...(state.dryRun
      ? [`Nothing is deleted now: dryRun is set in ConfigMap ${sojournNamespace}/${doorStateName}`]
      : []),
    ...(state.breaker === 'open'
      ? [
          `Nothing is deleted now: the circuit breaker is open${since}${why}; check "sojourn departures -A", then run "sojourn departures --close-breaker"`,
        ]
      : []),
    ...Object.values(state.circuits).map(
      (because) =>
        `Nothing is deleted in one namespace now: its circuit breaker is open: ${because}; check "sojourn departures -A", then run "sojourn departures --close-breaker"`,
    ),
  ]
}

/** Whether processes of Sojourn have led roles in this cluster, and none does now. Unknown is no. The embedded server runs its own without Leases. */
async function isStopped(client: Client, now: number): Promise<boolean> {
  const seen = await client.list<LeaseObject>(leases, { namespace: sojournNamespace }).catch(() => undefined)
  const hasRun = seen?.items.some(({ metadata }) => metadata.name.startsWith('sojourn-'))
  if (!hasRun || seen?.items.some((lease) => isLeaseHeld(lease, now))) return false
  const embedded = { namespace: sojournNamespace, name: 'sojourn-endpoints' }
  return !(await client.get(configMaps, embedded).catch(ignoring('NotFound', 'Forbidden')))
}
