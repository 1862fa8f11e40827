import { setMarkedValues, mentions, type Marker } from './markers.ts'
import {
  commitOf,
  idOf,
  parseCommit,
  parseTree,
  treeOf,
  type Authorship,
  type GitObject,
  type TreeEntry,
} from '../../../git/objects.ts'
import type { ObjectStore } from '../../../git/pack.ts'
import type { GitRemote } from '../../../git/remote.ts'

/** What is to be changed, and how the commit is to look. */
export interface ChangeRequest {
  readonly marker: Marker
  readonly value: string
  /** Folders or files to look in; all when empty. */
  readonly paths: readonly string[]
  readonly message: string
  readonly by: Authorship
  /** The armoured signature of a commit; absent when commits are not signed. */
  readonly sign?: SignCommit | undefined
}

/** Signs the bytes of a commit. */
export type SignCommit = (commit: Buffer) => Promise<string>

/** A commit that is ready to be pushed, or why there is none. */
export type Change =
  | {
      readonly change: 'ready'
      readonly commit: string
      readonly objects: readonly GitObject[]
      readonly files: readonly string[]
    }
  | { readonly change: 'same'; readonly files: readonly string[] }
  | { readonly change: 'no-marker'; readonly problems: readonly string[] }
  /** Some marked values could be set and others could not: half a change is none. */
  | { readonly change: 'unusable'; readonly problems: readonly string[] }

/** Sets the marked values on top of a commit. The same commit and request always give the same new commit. */
export async function prepareChange(remote: GitRemote, parent: string, request: ChangeRequest): Promise<Change> {
  const store = await remote.fetch({ wants: [parent], depth: 1, withoutBlobs: true })
  const root = treeIdOf(store, parent)
  const files = yamlFiles(store, root, request.paths)
  await fetchMissing(remote, store, files)
  const edits = new Map<string, GitObject>()
  const found: string[] = []
  const problems: string[] = []
  for (const { path, id } of files) {
    const content = store.get(id)?.content
    if (!content || !mentions(content)) continue
    const edit = setMarkedValues(content, request.marker, request.value)
    if (edit.edit === 'problem') problems.push(`${readable(path)} ${edit.problem}`)
    if (edit.edit === 'same' || edit.edit === 'changed') found.push(readable(path))
    if (edit.edit === 'changed') edits.set(path, { type: 'blob', content: Buffer.from(edit.content) })
  }
  if (found.length === 0) return { change: 'no-marker', problems }
  if (problems.length > 0) return { change: 'unusable', problems }
  if (edits.size === 0) return { change: 'same', files: found }
  const objects: GitObject[] = [...edits.values()]
  const tree = rebuild(store, root, { prefix: '', edits, objects })
  const info = { tree, parents: [parent], message: request.message }
  const unsigned = commitOf(info, request.by)
  const commit = request.sign ? commitOf(info, request.by, await request.sign(unsigned.content)) : unsigned
  return { change: 'ready', commit: idOf(commit), objects: [...objects, commit], files: found }
}

interface FilePlace {
  readonly path: string
  readonly id: string
}

function treeIdOf(store: ObjectStore, commit: string): string {
  const object = store.get(commit)
  if (object?.type !== 'commit') throw new Error('the git server did not send the commit that was asked for')
  return parseCommit(object.content).tree
}

function entriesOf(store: ObjectStore, tree: string): TreeEntry[] {
  const object = store.get(tree)
  if (object?.type !== 'tree') throw new Error('the git server did not send a whole tree')
  return parseTree(object.content)
}

function yamlFiles(store: ObjectStore, root: string, paths: readonly string[]): FilePlace[] {
  const wanted = paths
    .map((path) => Buffer.from(path.replace(/^\.?\/+|\/+$/g, '')).toString('latin1'))
    .filter((path) => path !== '')
  const files: FilePlace[] = []
  const walk = (tree: string, prefix: string) => {
    for (const { mode, name, id } of entriesOf(store, tree)) {
      const path = `${prefix}${name}`
      if (mode === '40000') {
        if (leadsTo(path, wanted)) walk(id, `${path}/`)
      } else if (mode.startsWith('100') && /\.ya?ml$/.test(name) && isWithin(path, wanted)) files.push({ path, id })
    }
  }
  walk(root, '')
  return files
}

function isWithin(path: string, wanted: readonly string[]): boolean {
  return wanted.length === 0 || wanted.some((each) => path === each || path.startsWith(`${each}/`))
}

function leadsTo(folder: string, wanted: readonly string[]): boolean {
  return isWithin(folder, wanted) || wanted.some((each) => each.startsWith(`${folder}/`))
}

async function fetchMissing(remote: GitRemote, store: ObjectStore, files: readonly FilePlace[]): Promise<void> {
  const missing = [...new Set(files.map(({ id }) => id))].filter((id) => !store.has(id))
  if (missing.length === 0) return
  for (const [id, object] of await remote.fetch({ wants: missing })) store.set(id, object)
}

/** New trees along the paths of the edits; everything else is referred to as it was. */
function rebuild(
  store: ObjectStore,
  tree: string,
  {
    prefix,
    edits,
    objects,
  }: { readonly prefix: string; readonly edits: ReadonlyMap<string, GitObject>; readonly objects: GitObject[] },
): string {
  const entries = entriesOf(store, tree).map((entry) => {
    const path = `${prefix}${entry.name}`
    const edited = edits.get(path)
    if (edited) return { ...entry, id: idOf(edited) }
    const isTouched = entry.mode === '40000' && [...edits.keys()].some((each) => each.startsWith(`${path}/`))
    return isTouched ? { ...entry, id: rebuild(store, entry.id, { prefix: `${path}/`, edits, objects }) } : entry
  })
  const rebuilt = treeOf(entries)
  objects.push(rebuilt)
  return idOf(rebuilt)
}

function readable(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8')
}
