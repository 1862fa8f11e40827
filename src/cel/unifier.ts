import type { Signature } from './signature.ts'
import { dynType, listType, mapType, optionalType, typeType, type Type } from './types.ts'

/** Type variables and what they turned out to be. */
export class Unifier {
  readonly #bound = new Map<string, Type>()
  /** Names in the order in which they were bound, so that a failed attempt can be taken back. */
  readonly #order: string[] = []
  #count = 0

  /** A variable nothing else mentions, as the element type of `[]` is. */
  fresh(): Type {
    this.#count += 1
    return { kind: 'variable', name: `_${this.#count}` }
  }

  /** The signature with variables of its own, so that two calls do not share them. */
  instance(signature: Signature): { readonly parameters: readonly Type[]; readonly result: Type } {
    if (!signature.isGeneric) return signature
    const names = new Map<string, Type>()
    const rename = (type: Type): Type => mapped(type, (name) => names.getOrInsertComputed(name, () => this.fresh()))
    return { parameters: signature.parameters.map(rename), result: rename(signature.result) }
  }

  /** Runs an attempt; what it bound is kept only when it succeeds. */
  attempt(tries: () => boolean): boolean {
    const before = this.#order.length
    if (tries()) return true
    for (const name of this.#order.splice(before)) this.#bound.delete(name)
    return false
  }

  /** The type with every bound variable replaced; `isFinal` also makes dyn of the unbound. */
  resolve(type: Type, isFinal = false): Type {
    return mapped(type, (name) => {
      const bound = this.#bound.get(name)
      if (bound) return this.resolve(bound, isFinal)
      return isFinal ? dynType : { kind: 'variable', name }
    })
  }

  /** Whether a value of type `from` may stand where `to` is asked for; binds variables on the way. */
  assign(to: Type, from: Type): boolean {
    const wanted = this.#shallow(to)
    const given = this.#shallow(from)
    if (wanted.kind === 'variable') return this.#bind(wanted.name, given)
    if (given.kind === 'variable') return this.#bind(given.name, wanted)
    if (wanted.kind === 'dyn' || given.kind === 'dyn') return true
    if (given.kind === 'null' && isNullable(wanted)) return true
    return this.#assignParts(wanted, given)
  }

  /** The type that holds both; dyn when they have nothing in common. */
  join(a: Type, b: Type): Type {
    if (a.kind === 'dyn' || b.kind === 'dyn') return dynType
    const isCommon = this.attempt(() => this.assign(a, b)) || this.attempt(() => this.assign(b, a))
    return isCommon ? this.#general(this.resolve(a), this.resolve(b)) : dynType
  }

  /** Of two types that fit each other the one that says less, part by part. */
  #general(a: Type, b: Type): Type {
    if (a.kind === 'dyn' || b.kind === 'dyn') return dynType
    if (a.kind === 'null' && b.kind !== 'null') return b
    if (a.kind === 'list' && b.kind === 'list') return listType(this.#general(a.element, b.element))
    if (a.kind === 'map' && b.kind === 'map')
      return mapType(this.#general(a.key, b.key), this.#general(a.value, b.value))
    if (a.kind === 'optional' && b.kind === 'optional') return optionalType(this.#general(a.of, b.of))
    if (a.kind !== 'opaque' || b.kind !== 'opaque') return a
    return { ...a, parameters: a.parameters.map((part, index) => this.#general(part, b.parameters[index] ?? part)) }
  }

  #assignParts(to: Type, from: Type): boolean {
    if (to.kind === 'list') return from.kind === 'list' && this.assign(to.element, from.element)
    if (to.kind === 'map') {
      return from.kind === 'map' && this.assign(to.key, from.key) && this.assign(to.value, from.value)
    }
    if (to.kind === 'optional') return from.kind === 'optional' && this.assign(to.of, from.of)
    if (to.kind === 'type') return from.kind === 'type'
    if (to.kind === 'object') return from.kind === 'object' && to.name === from.name
    if (to.kind !== 'opaque') return to.kind === from.kind
    if (from.kind !== 'opaque' || from.name !== to.name) return false
    return to.parameters.every((part, index) => this.assign(part, from.parameters[index] ?? dynType))
  }

  #shallow(type: Type): Type {
    const bound = type.kind === 'variable' ? this.#bound.get(type.name) : undefined
    return bound ? this.#shallow(bound) : type
  }

  #bind(name: string, type: Type): boolean {
    if (type.kind === 'variable' && type.name === name) return true
    if (mentions(this.resolve(type), name)) return false
    this.#bound.set(name, type)
    this.#order.push(name)
    return true
  }
}

function isNullable(type: Type): boolean {
  return ['timestamp', 'duration', 'object', 'opaque', 'null', 'optional'].includes(type.kind)
}

function mentions(type: Type, name: string): boolean {
  let isFound = false
  mapped(type, (other) => {
    if (other === name) isFound = true
    return dynType
  })
  return isFound
}

/** The type with its variables replaced. */
function mapped(type: Type, replace: (name: string) => Type): Type {
  switch (type.kind) {
    case 'variable':
      return replace(type.name)
    case 'list':
      return listType(mapped(type.element, replace))
    case 'map':
      return mapType(mapped(type.key, replace), mapped(type.value, replace))
    case 'optional':
      return optionalType(mapped(type.of, replace))
    case 'type':
      return typeType(mapped(type.of, replace))
    case 'opaque':
      return { ...type, parameters: type.parameters.map((part) => mapped(part, replace)) }
    default:
      return type
  }
}
