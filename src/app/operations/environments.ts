import { environment, type Environment } from '../../apis/environment.ts'
import type { Client } from '../../client/client.ts'
import { oldestOf } from '../../kube/object.ts'
import { ignoring, StatusError } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { keptUntil } from '../../systems/environments/keep.ts'

/** The Environment of a Namespace, if it has one. */
export async function ownEnvironment(client: Client, namespace: string): Promise<Environment | undefined> {
  const list = await client.list<Environment>(environment.type, { namespace }).catch(ignoring('NotFound', 'Forbidden'))
  return oldestOf(list?.items ?? [])
}

/** The Environment of a Namespace; throws NotFound where it has none. */
export async function findEnvironment(client: Client, namespace: string): Promise<Environment> {
  const found = await ownEnvironment(client, namespace)
  if (found) return found
  throw new StatusError('NotFound', `there is no environment "${namespace}"; run "sojourn env" for all`)
}

/** What a keep came to: until when, from when, and what the class allows at most. */
export interface Kept {
  readonly until: number
  readonly was: number | undefined
  readonly atMost: number | undefined
}

/** Keeps an environment for longer, from the date of its deletion, with the caller's own rights. */
export async function keepEnvironment(
  client: Client,
  self: Environment,
  { forMs, now }: { readonly forMs: number | undefined; readonly now: number },
): Promise<Kept> {
  const { namespace = '', name } = self.metadata
  const was = parseTime(self.status?.deletesAt)
  const { until, atMost } = await keptUntil(client, self, { from: Math.max(was ?? now, now), forMs })
  const body = { spec: { keepUntil: formatTime(until) } }
  await client.merge(environment.type, { namespace, name }, body)
  return { until, was, atMost }
}

/** Wakes an environment or puts it to sleep by hand; the activator does it. */
export async function setPower(
  client: Client,
  { metadata }: Environment,
  { power, until, now }: { readonly power: 'Awake' | 'Asleep'; readonly until: number; readonly now: number },
): Promise<void> {
  const { namespace = '', name } = metadata
  // The API keeps whole seconds: rounded down, a request just before would count as one after it and keep the environment awake.
  const since = Math.ceil(now / 1000) * 1000
  const body = { spec: { power, powerSince: formatTime(since), powerUntil: formatTime(until) } }
  await client.merge(environment.type, { namespace, name }, body)
}
