import { ownOf, setOwn } from '../basics/json.ts'
import { deepEqual } from './patch.ts'

/** One operation of RFC 6902. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/**
 * RFC 6902 on a copy, as kube-apiserver reads it: `replace` also sets a key that was not there, `copy` of an absent key makes
 * null, and an index below zero counts from the end. Throws when an operation cannot be applied.
 */
export function jsonPatch(target: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const box = { root: structuredClone(target), copied: 0 }
  for (const operation of operations) applyOperation(box, operation)
  return box.root
}

interface Box {
  root: unknown
  /** How much text `copy` operations have made so far. */
  copied: number
}

type Container = Record<string, unknown> | unknown[]

function applyOperation(box: Box, { op, path, from, value }: JsonPatchOperation): void {
  switch (op) {
    case 'add':
      return insert(box, path, structuredClone(value ?? null))
    case 'remove':
      return remove(box, path)
    case 'replace':
      return replace(box, path, structuredClone(value ?? null))
    case 'move': {
      const moved = read(box, from)
      remove(box, from)
      return insert(box, path, moved)
    }
    case 'copy':
      return insert(box, path, copied(box, read(box, from)))
    case 'test':
      if (!deepEqual(path === '' ? box.root : read(box, path), value ?? null))
        throw new Error(`testing value ${path} failed`)
      return
    default:
      throw new Error(`unexpected kind: ${String(op)}`)
  }
}

const maxCopiedBytes = 3 * 1024 * 1024

/** Copies of copies grow without end: a patch makes no more of them than a body may hold. */
function copied(box: Box, value: unknown): unknown {
  const text = JSON.stringify(value)
  box.copied += text.length
  if (box.copied > maxCopiedBytes) throw new Error(`copies come to more than ${maxCopiedBytes} bytes`)
  return JSON.parse(text)
}

/** What stands at a path; null for a key that is not there. */
function read(box: Box, path: string | undefined): unknown {
  const [parent, last] = walk(box, path)
  return (Array.isArray(parent) ? parent[indexIn(parent, last)] : ownOf(parent, last)) ?? null
}

function replace(box: Box, path: string, value: unknown): void {
  if (path === '') {
    if (!isContainer(value)) throw new Error('only an object or a list can replace the whole')
    box.root = value
    return
  }
  const [parent, last] = walk(box, path)
  if (Array.isArray(parent)) parent[indexIn(parent, last)] = value
  else setOwn(parent, last, value)
}

function insert(box: Box, path: string, value: unknown): void {
  const [parent, last] = walk(box, path)
  if (!Array.isArray(parent)) return setOwn(parent, last, value)
  const index = last === '-' ? parent.length : indexIn({ length: parent.length + 1 }, last)
  parent.splice(index, 0, value)
}

function remove(box: Box, path: string | undefined): void {
  const [parent, last] = walk(box, path)
  if (Array.isArray(parent)) parent.splice(indexIn(parent, last), 1)
  else if (Object.hasOwn(parent, last)) delete parent[last]
  else throw new Error(`unable to remove nonexistent key: ${last}`)
}

/** The container a pointer leads to, and the last step into it. */
function walk(box: Box, path = ''): [Container, string] {
  const [, ...steps] = path.split('/').map(unescape)
  const last = steps.pop()
  if (last === undefined) throw new Error(`missing path ${JSON.stringify(path)}`)
  let at: unknown = box.root
  for (const step of steps) {
    if (!isContainer(at)) throw new Error(`missing path ${path}`)
    at = Array.isArray(at) ? at[indexIn(at, step)] : ownOf(at, step)
  }
  if (!isContainer(at)) throw new Error(`missing path ${path}`)
  return [at, last]
}

function indexIn({ length }: { readonly length: number }, step: string): number {
  const given = /^[-+]?\d{1,9}$/.test(step) ? Number(step) : NaN
  const index = given < 0 ? given + length : given
  if (!(index >= 0 && index < length)) throw new Error(`unable to access invalid index: ${step}`)
  return index
}

function unescape(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~')
}

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}
