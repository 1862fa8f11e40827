import { apiVersionOf, groupResource, type GroupVersionKind } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { formatTime } from '../../kube/time.ts'
import { builtinKinds } from '../schema/types/builtin-kinds.ts'
import type { Clock } from '../store/clock.ts'
import type { Document } from '../store/document.ts'
import type { Store } from '../store/store.ts'
import { builtinServedKind } from './builtin-kind.ts'
import { customKinds } from './custom-served-kind.ts'
import { definitionResource, type Definition } from './definitions/definition.ts'
import { definitionRules } from './definitions/definition-rules.ts'
import { allNames } from './definitions/establish-definition.ts'
import type { KindRules } from './rules/kind-rules.ts'
import { withoutFinalizerNameErrors } from './rules/finalizer-name-errors.ts'
import type { ServedKind } from './contract/served-kind.ts'

/** A CRD and the kinds that it defines. */
interface DefinedKinds {
  readonly definition: Definition
  readonly since: number
  readonly kinds: readonly ServedKind[]
  /** The storage version, served or not. */
  readonly storage: ServedKind | undefined
}

/** The registry of served kinds: the built-in ones and those of the CRDs in the store. */
export class Kinds {
  readonly #builtin: readonly ServedKind[]
  readonly #custom = new Map<string, DefinedKinds>()
  readonly #listeners = new Set<(gone: readonly ServedKind[]) => void>()
  #version = 1
  /** `group/version/plural` → kind; rebuilt on every change. */
  #byPath: ReadonlyMap<string, ServedKind> = new Map()

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    const rules = definitionRules({
      taken: (group, except) => this.#takenNames(group, except),
      now: () => formatTime(clock.now()),
    })
    this.#builtin = builtinKinds().map((kind) => {
      const served = builtinServedKind(kind)
      return served.resource === definitionResource ? definitionKind(served, rules) : served
    })
    this.#index()
  }

  /** Increases with every change; caches derived from the kinds compare it. */
  get version(): number {
    return this.#version
  }

  all(): readonly ServedKind[] {
    return [...this.#byPath.values()]
  }

  find({ group, version, plural }: { group: string; version: string; plural: string }): ServedKind | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`)
  }

  ofKind({ group, version, kind }: GroupVersionKind): ServedKind | undefined {
    return this.all().find((type) => type.group === group && type.version === version && type.kind === kind)
  }

  /** A served version of the resource with this name in the store. */
  ofResource(resource: string): ServedKind | undefined {
    return this.all().find((type) => type.resource === resource && !isConverted(type))
  }

  /** The storage version of a CRD's kind, even while no version is served. */
  ofDefinition(name: string): ServedKind | undefined {
    return this.#custom.get(name)?.storage
  }

  /** Calls back after each change, with the previous form of the kinds that changed or are gone. */
  subscribe(listener: (gone: readonly ServedKind[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Serves the CRDs of this store and follows their changes until the result is called. */
  follow(store: Store): () => void {
    const found = store.scan({ resource: definitionResource, limit: Number.MAX_SAFE_INTEGER })
    for (const { document } of found) this.#define(document)
    this.#index()
    return store.subscribe((events) => {
      const changes = events.filter(({ resource }) => resource === definitionResource)
      if (changes.length === 0) return
      const gone = changes.flatMap(({ type, name, document }) =>
        type === 'delete' ? this.#forget(name) : this.#define(document),
      )
      this.#changed(gone)
    })
  }

  #define(document: Document): readonly ServedKind[] {
    const definition = document.value as unknown as Definition
    const { name } = definition.metadata
    const before = this.#custom.get(name)
    if (before && servesSame(before.definition, definition)) {
      this.#custom.set(name, { ...before, definition })
      return []
    }
    // A new schema: documents stored before this revision are pruned and defaulted when they are read.
    const isReshaped = !before || !deepEqual(before.definition.spec.versions, definition.spec.versions)
    const since = isReshaped ? document.revision : before.since
    const all = kindsOf(definition, since)
    const served = new Set(definition.spec.versions.filter((version) => version.served).map((version) => version.name))
    const kinds = all.filter(({ version }) => served.has(version))
    const storage = all.find((type) => apiVersionOf(type) === type.storageVersion)
    this.#custom.set(name, { definition, since, kinds, storage })
    return before?.kinds ?? []
  }

  #forget(name: string): readonly ServedKind[] {
    const gone = this.#custom.get(name)?.kinds ?? []
    this.#custom.delete(name)
    return gone
  }

  #changed(gone: readonly ServedKind[]): void {
    this.#index()
    this.#version += 1
    for (const listener of this.#listeners) listener(gone)
  }

  #index(): void {
    const custom = [...this.#custom.values()].flatMap(({ kinds }) => kinds)
    this.#byPath = new Map(
      [...custom, ...this.#builtin].map((type) => [`${type.group}/${type.version}/${type.plural}`, type]),
    )
  }

  /** The names in use in a group. Includes built-in kinds: a CRD must never serve their objects. */
  #takenNames(group: string, except: string): ReadonlyMap<string, string> {
    const builtin = this.#builtin.filter((type) => type.group === group)
    const others = [...this.#custom.values()].filter(
      ({ definition, kinds }) =>
        kinds.length > 0 && definition.spec.group === group && definition.metadata.name !== except,
    )
    const names = [
      ...builtin.map((type) => [type, groupResource(type)] as const),
      ...others.map(
        ({ definition }) =>
          [definition.status?.acceptedNames ?? definition.spec.names, definition.metadata.name] as const,
      ),
    ]
    return new Map(names.flatMap(([its, owner]) => allNames(its).map((name) => [name, owner] as const)))
  }
}

/** A CRD that cannot be read serves no kind, without affecting the other CRDs. */
function kindsOf(definition: Definition, since: number): readonly ServedKind[] {
  try {
    return customKinds(definition, since)
  } catch {
    return []
  }
}

/** The kind CustomResourceDefinition, with rules that depend on the other kinds. */
function definitionKind(served: ServedKind, rules: Partial<KindRules>): ServedKind {
  return {
    ...served,
    rules: { ...served.rules, ...rules },
    validateCreate: (object) => withoutFinalizerNameErrors(served.validateCreate(object)),
    validateUpdate: (object, old) => withoutFinalizerNameErrors(served.validateUpdate(object, old)),
  }
}

/** Whether two states of a CRD define the same kinds. */
function servesSame(left: Definition, right: Definition): boolean {
  return (
    deepEqual(left.spec, right.spec) &&
    deepEqual(left.status?.acceptedNames, right.status?.acceptedNames) &&
    deepEqual(left.status?.conditions, right.status?.conditions) &&
    left.metadata.deletionTimestamp === right.metadata.deletionTimestamp
  )
}

/** Whether this version is stored under another group's resource, as events.k8s.io Events are. */
function isConverted({ group, plural, resource }: ServedKind): boolean {
  return groupResource({ group, plural }) !== resource
}
