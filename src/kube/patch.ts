import { StatusError } from './status-error.ts'

/** The four ways to say a change. `apply` is server-side apply. */
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export const patchContentType: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

/** One operation of RFC 6902. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/** RFC 7396: null removes, objects merge, everything else replaces. Neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else define(result, key, mergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value))
  }
  return result
}

/** RFC 6902 on a copy; throws Invalid, naming the operation, when one cannot be applied. */
export function jsonPatch(target: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const box = { root: structuredClone(target) }
  operations.forEach((operation, index) => {
    try {
      applyOperation(box, operation)
    } catch (error) {
      throw new StatusError(
        'Invalid',
        `the server rejected our request due to an error in our request: operation ${index}: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    }
  })
  return box.root
}

/** Whether two JSON values are the same, key order aside. */
export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) && left.length === right.length && left.every((item, index) => deepEqual(item, right[index]))
    )
  }
  if (!isRecord(left) || !isRecord(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && deepEqual(left[key], right[key]))
  )
}

/** The merge patch that turns `from` into `to`; undefined when they are the same. */
export function diffToMergePatch(from: unknown, to: unknown): unknown {
  if (!isRecord(from) || !isRecord(to)) return deepEqual(from, to) ? undefined : to
  const patch: Record<string, unknown> = {}
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) define(patch, key, null)
  for (const [key, value] of Object.entries(to)) {
    const change = diffToMergePatch(Object.hasOwn(from, key) ? from[key] : undefined, value)
    if (change !== undefined) define(patch, key, change)
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

type Container = Record<string, unknown> | unknown[]

function applyOperation(box: { root: unknown }, operation: JsonPatchOperation): void {
  const { op, path, from, value } = operation
  switch (op) {
    case 'add':
      return insert(box, path, structuredClone(value))
    case 'remove':
      return remove(box, path)
    case 'replace':
      read(box, path)
      if (path !== '') remove(box, path)
      return insert(box, path, structuredClone(value))
    case 'move': {
      if (from === undefined) throw new Error('move needs "from"')
      if (path.startsWith(`${from}/`)) throw new Error(`cannot move ${from} into itself`)
      const moved = read(box, from)
      remove(box, from)
      return insert(box, path, moved)
    }
    case 'copy':
      if (from === undefined) throw new Error('copy needs "from"')
      return insert(box, path, structuredClone(read(box, from)))
    case 'test':
      if (!deepEqual(read(box, path), value)) throw new Error(`testing value ${path} failed`)
      return
    default:
      throw new Error(`unexpected kind: ${String(op)}`)
  }
}

function read(box: { root: unknown }, path: string): unknown {
  if (path === '') return box.root
  const [parent, last] = walk(box, path)
  if (!has(parent, last)) throw new Error(`nonexistent path ${path}`)
  return Array.isArray(parent) ? parent[Number(last)] : parent[last]
}

function insert(box: { root: unknown }, path: string, value: unknown): void {
  if (path === '') {
    box.root = value
    return
  }
  const [parent, last] = walk(box, path)
  if (!Array.isArray(parent)) return define(parent, last, value)
  const index = last === '-' ? parent.length : arrayIndex(last)
  if (index > parent.length) throw new Error(`index ${last} is out of bounds in ${path}`)
  parent.splice(index, 0, value)
}

function remove(box: { root: unknown }, path: string): void {
  if (path === '') throw new Error('cannot remove the whole document')
  const [parent, last] = walk(box, path)
  if (!has(parent, last)) throw new Error(`unable to remove nonexistent key: ${path}`)
  if (Array.isArray(parent)) parent.splice(Number(last), 1)
  else delete parent[last]
}

/** The container a pointer leads to, and the last step into it. */
function walk(box: { root: unknown }, path: string): [Container, string] {
  if (!path.startsWith('/')) throw new Error(`path ${JSON.stringify(path)} must start with /`)
  const steps = path.slice(1).split('/').map(unescape)
  const last = steps.pop() ?? ''
  let at: unknown = box.root
  for (const step of steps) {
    if (!isContainer(at) || !has(at, step)) throw new Error(`nonexistent path ${path}`)
    at = Array.isArray(at) ? at[Number(step)] : at[step]
  }
  if (!isContainer(at)) throw new Error(`nonexistent path ${path}`)
  return [at, last]
}

function has(container: Container, step: string): boolean {
  if (!Array.isArray(container)) return Object.hasOwn(container, step)
  return /^(0|[1-9]\d*)$/.test(step) && Number(step) < container.length
}

function arrayIndex(step: string): number {
  if (!/^(0|[1-9]\d*)$/.test(step)) throw new Error(`${JSON.stringify(step)} is not an array index`)
  return Number(step)
}

function unescape(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Sets a key as data even when it is called `__proto__`. */
function define(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
