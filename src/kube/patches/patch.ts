import { isRecord, setOwn } from '../basics/json.ts'

/** The four ways to say a change. `apply` is server-side apply. */
export type PatchType = 'json' | 'merge' | 'strategic' | 'apply'

export const patchContentType: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}

/** RFC 7396: null removes, objects merge, everything else replaces. Neither argument is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else setOwn(result, key, mergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value))
  }
  return result
}

/** Whether two JSON values are the same, key order aside. */
export function deepEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false
    for (let index = 0; index < left.length; index++) if (!deepEqual(left[index], right[index])) return false
    return true
  }
  if (!isRecord(left) || !isRecord(right)) return false
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  for (const key of keys) if (!Object.hasOwn(right, key) || !deepEqual(left[key], right[key])) return false
  return true
}

/** The merge patch that turns `from` into `to`; undefined when they are the same. */
export function diffToMergePatch(from: unknown, to: unknown): unknown {
  if (!isRecord(from) || !isRecord(to)) return deepEqual(from, to) ? undefined : to
  const patch: Record<string, unknown> = {}
  for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) setOwn(patch, key, null)
  for (const [key, value] of Object.entries(to)) {
    const change = diffToMergePatch(Object.hasOwn(from, key) ? from[key] : undefined, value)
    if (change !== undefined) setOwn(patch, key, change)
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}
