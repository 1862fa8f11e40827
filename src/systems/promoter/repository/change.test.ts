import { describe, expect, it } from 'vitest'
import { commitOf, idOf, treeOf, type GitObject } from '../../../git/objects.ts'
import type { GitRemote } from '../../../git/remote.ts'
import { isOwnChange, prepareChange } from './change.ts'

/** A commit of a few objects whose tree has `width` to the power of `depth` files. */
function bomb(content: string, { depth, width = 10, name = 'f' }: { depth: number; width?: number; name?: string }) {
  const store = new Map<string, GitObject>()
  const add = (object: GitObject) => store.set(idOf(object), object) && idOf(object)
  let entry = { mode: '100644', id: add({ type: 'blob', content: Buffer.from(content) }) }
  for (let level = 0; level < depth; level++) {
    const entries = Array.from({ length: width }, (_, index) => ({ ...entry, name: `${name}${index}.yaml` }))
    entry = { mode: '40000', id: add(treeOf(entries)) }
  }
  const commit = add(commitOf({ tree: entry.id, parents: [], message: '' }, { name: 'a', email: 'a@b.org', atMs: 0 }))
  const git = { fetch: () => Promise.resolve(store) } as unknown as GitRemote
  return { git, commit }
}

const marked = 'version: 1 # {"$promotion": "a:shop:prod"}\n'
const request = {
  promotion: { intentAt: '2026-01-01T00:00:00Z' },
  values: { namespace: 'a', pipeline: 'shop', environment: 'prod', revision: '2', value: '2' },
  settings: {},
} as unknown as Parameters<typeof prepareChange>[2]

describe('131: a repository whose few objects make very many files', () => {
  const tooLarge = { kind: 'Permanent', because: 'MarkerUnusable' }

  it('131: is refused by the number of its paths', async () => {
    const { git, commit } = bomb('a: 1\n', { depth: 30 })
    await expect(prepareChange(git, commit, request)).rejects.toMatchObject(tooLarge)
    const promotion = { revision: `main@sha1:${commit}`, fromRevision: `main@sha1:${commit}` }
    await expect(isOwnChange(git, promotion as never)).rejects.toMatchObject(tooLarge)
  })

  it('131: is refused by the length of its paths', async () => {
    const { git, commit } = bomb('a: 1\n', { depth: 2, name: 'n'.repeat(5000) })
    await expect(prepareChange(git, commit, request)).rejects.toMatchObject(tooLarge)
  })

  it('131: is refused by the number of its marked files', async () => {
    const { git, commit } = bomb(marked, { depth: 4 })
    await expect(prepareChange(git, commit, request)).rejects.toMatchObject(tooLarge)
  })

  it('is changed at each path of the same file', async () => {
    const { git, commit } = bomb(marked, { depth: 2, width: 3 })
    expect(await prepareChange(git, commit, request)).toMatchObject({ change: 'ready' })
  })
})
