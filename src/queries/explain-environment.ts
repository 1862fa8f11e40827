import type { EnvironmentClass } from '../apis/environment-class.ts'
import { environment, type Environment } from '../apis/environment.ts'
import { findCondition } from '../kube/conditions.ts'
import type { StoredObject } from '../kube/object.ts'
import { formatAge, parseTime, when } from '../kube/time.ts'
import type { Explained } from './explain.ts'
import type { Reader } from './reader.ts'

/** How many environments a class has, and what is wrong with it. */
export function explainClass({ metadata, status }: EnvironmentClass): readonly string[] {
  const ready = findCondition(status?.conditions, 'Ready')
  const said = ready ? `${ready.status === 'True' ? '' : 'it is not Ready: '}${ready.message}` : 'it was not read yet'
  return [`EnvironmentClass ${metadata.name} has ${status?.environments ?? 0} environments: ${said}`]
}

/** What its Environment means for a Namespace and for everything in it; for the Environment itself, and the Namespace, in full. */
export async function explainEnvironment(
  reader: Reader,
  { type, object }: Explained,
  now: number,
): Promise<readonly string[]> {
  const { name, namespace } = object.metadata
  if (type.group === environment.group && type.kind === environment.kind)
    return lifeOf(object as Environment & StoredObject, now)
  const isNamespace = type.group === '' && type.kind === 'Namespace'
  const home = isNamespace ? name : namespace
  if (home === undefined) return []
  const [found] = await reader.list<Environment & StoredObject>(environment.type, { namespace: home })
  if (!found) return []
  if (isNamespace) return lifeOf(found, now)
  const leaves = timeOf(found.status?.deletesAt)
  return leaves === undefined ? [] : [`It is deleted with environment ${found.metadata.name} ${when(leaves, now)}`]
}

function lifeOf({ metadata, spec, status }: Environment & StoredObject, now: number): readonly string[] {
  const { phase, message, lastUsedAt, lastUsedBy = 'Created', sleepsAt, wakesAt, deletesAt, conditions } = status ?? {}
  const ready = findCondition(conditions, 'Ready')
  const failing = (type: string) => {
    const found = findCondition(conditions, type)
    return found?.status === 'False' ? [found.message] : []
  }
  const at = (text: string, time: string | undefined) => {
    const instant = timeOf(time)
    return instant === undefined ? [] : [`${text} ${when(instant, now)}`]
  }
  const isHeld = phase === 'Held' || /\bheld\b/.test(message ?? '')
  return [
    `Environment ${metadata.name} of class ${spec.className} is ${phase ?? 'not read yet'}${message ? `: ${message}` : ''}`,
    ...(ready?.status === 'False' ? [`It is not Ready: ${ready.message}`] : []),
    ...powerOf(spec, status?.because),
    ...failing('UseVisible').map(
      (why) => `Its use cannot be seen, so it neither sleeps when idle nor is deleted as unused: ${why}`,
    ),
    ...failing('PullRequestKnown').map((why) => `Its pull request cannot be read, so it is not deleted: ${why}`),
    ...failing('Notified').map((why) => `Its owner could not be told, so it is not deleted: ${why}`),
    ...(lastUsedAt ? [`It was last used ${formatAge(now - (timeOf(lastUsedAt) ?? now))} ago (${lastUsedBy})`] : []),
    ...at('Its workloads sleep', sleepsAt),
    ...at('Its workloads wake', wakesAt),
    ...at(isHeld ? 'Its deletion is due, and held as said above,' : 'It is deleted with its Namespace', deletesAt),
    ...(deletesAt ? [`To keep it, run: sojourn keep ${metadata.namespace ?? metadata.name} --for 3d`] : []),
  ]
}

/** Why it is asleep or awake, where the times of its next change do not tell. */
function powerOf({ power, powerUntil }: Environment['spec'], because: string | undefined): readonly string[] {
  const byHand = `It is ${power === 'Awake' ? 'kept awake' : 'asleep'} by hand until ${powerUntil}`
  const sentences: Readonly<Partial<Record<string, string>>> = {
    'by-hand': power === 'Asleep' ? `${byHand}; a request wakes it` : byHand,
    new: 'Nothing in it sleeps for a while after its creation: sleep.grace of the class',
    deployed: 'Nothing in it sleeps for a while after a deploy: sleep.grace of the class',
    'awake-hours': 'It is kept awake in the awake hours of its class',
    'outside-awake-hours': 'It is outside the awake hours of its class',
    'no-sleep-rule': 'Its class has no sleep rule: its Services put their workloads to sleep by their TTL',
    paused: 'Its class is paused: nothing is scaled or deleted by it',
  }
  return [sentences[because ?? ''] ?? []].flat()
}

function timeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseTime(text)
}
