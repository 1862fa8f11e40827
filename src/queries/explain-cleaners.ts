import type { Cleaner } from '../apis/cleaner.ts'
import { cleanerKinds as kinds } from '../apis/cleaner-kinds.ts'
import { findCondition } from '../kube/conditions.ts'
import { parseApiVersion, type KubeObject } from '../kube/object.ts'
import { matches } from '../kube/selector.ts'
import { formatTime, parseTime, when } from '../kube/time.ts'
import { describeTarget, type Target } from '../systems/cleaner/decision/model.ts'
import { readModel } from '../systems/cleaner/decision/read-model.ts'
import type { Explained } from './explain.ts'
import type { Reader } from './reader.ts'

/** Every Cleaner that will delete an object, and its state. */
export async function explainCleaners(reader: Reader, explained: Explained, now: number): Promise<readonly string[]> {
  const { type, object } = explained
  const namespace = type.kind === 'Namespace' ? object.metadata.name : object.metadata.namespace
  const lists = await Promise.all(kinds.map((kind) => reader.list<Cleaner>(kind.type, { namespace })))
  return lists.flatMap((cleaners, index) =>
    cleaners
      .filter((found) => deletedBy(found).some((target) => isTarget(target, explained)))
      .map((found) => `${kinds[index]?.kind} ${found.metadata.name} will delete it: ${stateOf(found, now)}`),
  )
}

/** What a Cleaner waits for, and what it deletes. */
export function explainCleaner({ type, object }: Explained): readonly string[] {
  if (!kinds.some(({ group, kind }) => group === type.group && kind === type.kind)) return []
  const { spec, status } = object as Cleaner
  const taken = deletedBy(object).map(describeTarget)
  const { helm = {} } = spec
  const releases = [helm, ...(helm.releases ?? [])].flatMap((each) => (each.delete && each.release ? [each] : []))
  const deletes = [...taken, ...releases.map(({ release }) => `the Helm release ${release}`)]
  const { decision } = (status ?? {}) as { readonly decision?: { readonly waitUntil?: string } }
  const waits = object.metadata.deletionTimestamp ? parseTime(decision?.waitUntil) : undefined
  return [
    ...quoted(spec.conditions ?? [], messageOf(object as Cleaner)),
    ...(deletes.length > 0 ? [`When its time is up it deletes ${deletes.join(', ')}`] : []),
    ...(waits === undefined ? [] : [`It waits until its targets are gone, at most until ${formatTime(waits)}`]),
  ]
}

/** The text of the conditions that a message names by index. */
function quoted(conditions: readonly string[], message: string): readonly string[] {
  const numbers = [...message.matchAll(/spec\.conditions\[(\d+)\]/g)].map(([, number]) => Number(number))
  return [...new Set(numbers)].flatMap((number) => {
    const condition = conditions[number]
    return condition === undefined ? [] : [`spec.conditions[${number}] is ${condition.trim()}`]
  })
}

function stateOf(found: Cleaner, now: number): string {
  const at = parseTime(found.status?.nextScheduledEvaluation)
  const next = at === undefined ? '' : `; next evaluation ${when(at, now)}`
  return `${messageOf(found)}${next}`
}

function messageOf({ status }: Cleaner): string {
  return findCondition(status?.conditions, 'Ready')?.message ?? 'not evaluated yet'
}

function isTarget({ apiVersion, kind, select }: Target, { type, object }: Explained): boolean {
  if (kind.toLowerCase() !== type.kind.toLowerCase() || parseApiVersion(apiVersion).group !== type.group) return false
  return select.by === 'name'
    ? select.name === object.metadata.name
    : matches(select.requirements, object.metadata.labels)
}

/** What a Cleaner deletes; nothing if its spec is invalid. */
function deletedBy(found: KubeObject): readonly Target[] {
  const reading = readModel(found)
  return 'model' in reading ? reading.model.targets.filter((target) => target.delete) : []
}
