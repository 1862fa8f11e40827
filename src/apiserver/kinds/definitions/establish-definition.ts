import type { KubeObject } from '../../../kube/object.ts'
import {
  cleanupFinalizer,
  hasTrueCondition,
  type Definition,
  type DefinitionCondition,
  type DefinitionNames,
} from './definition.ts'

/** The names that other CRDs and built-in kinds of a group use, with their owners. */
export type TakenNames = (group: string, exceptDefinition: string) => ReadonlyMap<string, string>

/** Completes the names of a CRD and accepts them unless another kind of the group has one of them. */
export function establish(definition: Definition, { now, taken }: { now: string; taken: TakenNames }): Definition {
  const names = completeNames(definition.spec.names)
  const others = taken(definition.spec.group, definition.metadata.name)
  const clash = allNames(names).find((name) => others.has(name))
  const wasEstablished = hasTrueCondition(definition, 'Established')
  const conditions = [namesCondition(clash), establishedCondition(clash !== undefined && !wasEstablished)]
  const kept = (definition.status?.conditions ?? []).filter(
    ({ type }) => !conditions.some((each) => each.type === type),
  )
  const previous = definition.status?.conditions ?? []
  return {
    ...definition,
    spec: { ...definition.spec, names, conversion: definition.spec.conversion ?? { strategy: 'None' } },
    status: {
      conditions: [...kept, ...conditions.map((condition) => withTransition(condition, previous, now))],
      acceptedNames: clash === undefined ? names : (definition.status?.acceptedNames ?? { plural: '', kind: '' }),
      storedVersions: storedVersions(definition),
    },
  }
}

/** Adds the condition that says a CRD is being deleted and why it still exists. */
export function withTerminatingCondition(object: KubeObject, now: string): KubeObject {
  const definition = object as unknown as Definition
  const conditions = (definition.status?.conditions ?? []).filter(({ type }) => type !== 'Terminating')
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    lastTransitionTime: now,
  }
  return { ...object, status: { ...definition.status, conditions: [...conditions, condition] } }
}

/** Adds the finalizer that keeps a CRD until its custom resources are deleted. */
export function withCleanupFinalizer(object: KubeObject): KubeObject {
  const { metadata } = object
  const { finalizers = [] } = metadata
  if (finalizers.includes(cleanupFinalizer)) return object
  return { ...object, metadata: { ...metadata, finalizers: [...finalizers, cleanupFinalizer] } }
}

/** Every name of a CRD that must be unique in its group, prefixed by its namespace (`resource` or `kind`). */
export function allNames({ plural, singular, kind, listKind, shortNames = [] }: DefinitionNames): readonly string[] {
  const resources = [plural, singular ?? '', ...shortNames].map((name) => `resource ${name}`)
  return [...resources, `kind ${kind}`, `kind ${listKind ?? ''}`].filter((name) => !name.endsWith(' '))
}

function completeNames(names: DefinitionNames): DefinitionNames {
  const { kind } = names
  return { ...names, singular: names.singular || kind.toLowerCase(), listKind: names.listKind || `${kind}List` }
}

function storedVersions({ spec, status }: Definition): readonly string[] {
  const storage = spec.versions.find((version) => version.storage)?.name ?? ''
  const before = status?.storedVersions ?? []
  return before.includes(storage) ? before : [...before, storage]
}

function namesCondition(clash: string | undefined): DefinitionCondition {
  return clash === undefined
    ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
    : { type: 'NamesAccepted', status: 'False', reason: 'NamesConflict', message: `${clash} is already in use` }
}

function establishedCondition(isRefused: boolean): DefinitionCondition {
  return isRefused
    ? { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' }
    : {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      }
}

function withTransition(
  condition: DefinitionCondition,
  previous: readonly DefinitionCondition[],
  now: string,
): DefinitionCondition {
  const before = previous.find(({ type }) => type === condition.type)
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined
  return { ...condition, lastTransitionTime: since ?? now }
}
