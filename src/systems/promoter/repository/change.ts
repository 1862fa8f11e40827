import type { Promotion } from '../../../apis/pipeline-status.ts'
import { at } from '../decision/draft.ts'
import { commitOf, idOf, parseCommit, parseTree, treeOf, type GitObject, type TreeEntry } from '../../../git/objects.ts'
import type { ObjectStore } from '../../../git/pack.ts'
import { PromotionError, permanent } from '../../../git/promotion-error.ts'
import type { FetchRequest, GitRemote } from '../../../git/remote.ts'
import { ParseRefusal } from '../../../parsing/parse-refusal.ts'
import { canHaveMarkers, setMarkedValues, type Marker, type MarkerEdit, withoutMarkedValues } from './markers.ts'
import { messageOf, type TemplateValues } from './templates.ts'
import { commitOf as commitOfRevision } from '../model/revision.ts'

/** The part of the spec that both strategies with a commit share. */
export interface CommitSettings {
  /** Folders or files to search for markers; all when empty. */
  readonly paths?: readonly string[]
  readonly commit?: { readonly name?: string; readonly email?: string; readonly messageTemplate?: string }
}

export interface ChangeRequest {
  /** Its intent time becomes the commit's time. */
  readonly promotion: Pick<Promotion, 'intentAt'>
  readonly values: TemplateValues
  readonly settings: CommitSettings
  /** Undefined when commits are not signed. */
  readonly sign?: SignCommit | undefined
}

/** Returns the armored signature of a commit, given its bytes. */
export type SignCommit = (commit: Buffer) => Promise<string>

/** A commit to push, or `same` when every marked value is already as wanted. */
export type Change =
  | { readonly change: 'ready'; readonly commit: string; readonly objects: readonly GitObject[] }
  | { readonly change: 'same' }

/**
 * Sets the marked values on top of a commit. The same parent and request always give the same commit, so that a
 * restarted process recognises its own. Throws PromotionError when there is no marker or one cannot be set:
 * a promotion never changes only some of its markers.
 */
export async function prepareChange(git: GitRemote, parent: string, request: ChangeRequest): Promise<Change> {
  const { promotion, values, settings, sign } = request
  const store = await fetchedFrom(git, { wants: [parent], depth: 1, withoutBlobs: true })
  const root = treeIdOf(store, parent)
  const files = filesUnder(store, root, settings.paths ?? []).filter(
    ({ path, mode }) => mode.startsWith('100') && canHaveMarkers(path),
  )
  await fetchMissing(git, store, files)
  const edits = editFiles(store, files, values)
  if (edits.size === 0) return { change: 'same' }
  const objects: GitObject[] = [...edits.values()]
  const tree = rebuild(store, root, { prefix: '', edits, folders: foldersOf(edits), objects })
  const info = { tree, parents: [parent], message: messageOf(values, settings.commit?.messageTemplate) }
  const author = {
    name: settings.commit?.name ?? 'Sojourn Promoter',
    email: settings.commit?.email ?? 'promoter@sojourn.dev',
    atMs: at(promotion.intentAt),
  }
  const unsigned = commitOf(info, author)
  const commit = sign ? commitOf(info, author, await sign(unsigned.content)) : unsigned
  return { change: 'ready', commit: idOf(commit), objects: [...objects, commit] }
}

/** Whether a commit has the promotion's value at every marker; false when it has no marker. */
export async function holdsValue(
  git: GitRemote,
  commit: string,
  request: Omit<ChangeRequest, 'sign'>,
): Promise<boolean> {
  try {
    return (await prepareChange(git, commit, request)).change === 'same'
  } catch (error) {
    if (error instanceof PromotionError && error.because === 'MarkerNotFound') return false
    throw error
  }
}

const maxEdits = 2000

/** New contents by path for the files whose marked values change. */
function editFiles(store: ObjectStore, files: readonly FilePlace[], values: TemplateValues): Map<string, GitObject> {
  const edits = new Map<string, GitObject>()
  const problems: string[] = []
  /** One file may stand at many paths: it is read once for each ending. */
  const known = new Map<string, MarkerEdit>()
  let found = 0
  for (const { path, id } of files) {
    const key = `${id} ${path.slice(path.lastIndexOf('.'))}`
    const content = store.get(id)?.content
    const edit = known.get(key) ?? (content ? setMarkedValues({ path, content }, values, values) : { edit: 'none' })
    known.set(key, edit)
    if (edits.size >= maxEdits)
      throw permanent('MarkerUnusable', `more than ${maxEdits} files have the marker; list fewer folders in "paths"`)
    if (edit.edit === 'problem') problems.push(`${readable(path)} ${edit.problem}`)
    if (edit.edit === 'same' || edit.edit === 'changed') found++
    if (edit.edit === 'changed') edits.set(path, { type: 'blob', content: Buffer.from(edit.content) })
  }
  if (found === 0) throw markerNotFound(values, problems)
  if (problems.length > 0)
    throw permanent('MarkerUnusable', `${summary(problems)}; to exclude a file, list the others in "paths"`)
  return edits
}

function markerNotFound({ namespace, pipeline, environment }: Marker, problems: readonly string[]): PromotionError {
  const marker = `{"$promotion": "${namespace}:${pipeline}:${environment}"}`
  const detail = problems.length > 0 ? `; ${summary(problems)}` : ''
  return permanent('MarkerNotFound', `no marker ${marker}${detail}`)
}

function summary(problems: readonly string[]): string {
  return problems.slice(0, 5).join('; ')
}

interface FilePlace {
  readonly path: string
  readonly id: string
  /** Of symbolic links and submodules another one. */
  readonly mode: string
}

function treeIdOf(store: ObjectStore, commit: string): string {
  const object = store.get(commit)
  if (object?.type !== 'commit') throw new Error('the git server did not send the requested commit')
  return parseCommit(object.content).tree
}

function entriesOf(store: ObjectStore, tree: string): TreeEntry[] {
  const object = store.get(tree)
  if (object?.type !== 'tree') throw new Error('the git server sent an incomplete tree')
  return parseTree(object.content)
}

/** Every file of a commit. */
export function filesOf(store: ObjectStore, commit: string): readonly FilePlace[] {
  return filesUnder(store, treeIdOf(store, commit), [])
}

const maxVisits = 200_000
const maxPathLength = 4096

/** The files under these paths. Paths are compared as bytes, held in Latin-1 strings. */
function filesUnder(store: ObjectStore, root: string, paths: readonly string[]): FilePlace[] {
  const wanted = paths
    .map((path) => Buffer.from(path.replace(/^\.?\/+|\/+$/g, '')).toString('latin1'))
    .filter((path) => path !== '')
  const files: FilePlace[] = []
  const trees = new Map<string, TreeEntry[]>()
  let visits = 0
  const walk = (tree: string, prefix: string) => {
    const entries = trees.get(tree) ?? entriesOf(store, tree)
    trees.set(tree, entries)
    for (const { mode, name, id } of entries) {
      const path = `${prefix}${name}`
      // One tree may stand at very many paths: visits count, not objects.
      if (++visits > maxVisits || path.length > maxPathLength)
        throw permanent(
          'MarkerUnusable',
          `the repository has more than ${maxVisits} files and folders, or a path longer than ${maxPathLength} bytes: list the folders with markers in "paths"`,
        )
      if (mode === '40000') {
        if (leadsTo(path, wanted)) walk(id, `${path}/`)
      } else if (isWithin(path, wanted)) files.push({ path, id, mode })
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

async function fetchMissing(
  remote: GitRemote,
  store: ObjectStore,
  files: readonly Pick<FilePlace, 'id'>[],
): Promise<void> {
  const missing = [...new Set(files.map(({ id }) => id))].filter((id) => !store.has(id))
  if (missing.length === 0) return
  for (const [id, object] of await fetchedFrom(remote, { wants: missing })) store.set(id, object)
}

/** Fetches objects; more than may be read is nothing that a retry could cure. */
async function fetchedFrom(remote: GitRemote, request: FetchRequest): Promise<ObjectStore> {
  return remote.fetch(request).catch(async (error: unknown) => {
    if (!(error instanceof ParseRefusal)) throw error
    const remedy = (await remote.canFilter())
      ? 'list the folders with markers in "paths"'
      : 'this server sends all files whatever "paths" says: allow filters on it (uploadpack.allowFilter), or move the file to another repository'
    throw permanent('MarkerUnusable', `${error.message}: ${remedy}`, { cause: error })
  })
}

/** Writes new trees along the paths of the edits, and reuses all others. Returns the id of the new tree. */
function rebuild(
  store: ObjectStore,
  tree: string,
  {
    prefix,
    edits,
    folders,
    objects,
  }: {
    readonly prefix: string
    readonly edits: ReadonlyMap<string, GitObject>
    readonly folders: ReadonlySet<string>
    readonly objects: GitObject[]
  },
): string {
  const entries = entriesOf(store, tree).map((entry) => {
    const path = `${prefix}${entry.name}`
    const edited = edits.get(path)
    if (edited) return { ...entry, id: idOf(edited) }
    const isTouched = entry.mode === '40000' && folders.has(path)
    return isTouched
      ? { ...entry, id: rebuild(store, entry.id, { prefix: `${path}/`, edits, folders, objects }) }
      : entry
  })
  const rebuilt = treeOf(entries)
  objects.push(rebuilt)
  return idOf(rebuilt)
}

/** All folders that contain an edit. */
function foldersOf(edits: ReadonlyMap<string, GitObject>): ReadonlySet<string> {
  const folders = new Set<string>()
  for (const path of edits.keys())
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) folders.add(path.slice(0, end))
  return folders
}

function readable(path: string): string {
  return Buffer.from(path, 'latin1').toString('utf8')
}

const maxChangedFiles = 200

/**
 * Whether two commits differ only in marked values: then promotions made the difference, of whatever pipeline, and however they were
 * merged. Where the first environment follows the branch that promotions write to, such a commit must not start a run.
 */
export async function isOwnChange(git: GitRemote, { revision, fromRevision = '' }: Promotion): Promise<boolean> {
  const [from, to] = [commitOfRevision(fromRevision), commitOfRevision(revision)]
  if (!from || !to) return false
  const store = await fetchedFrom(git, { wants: [from, to], depth: 1, withoutBlobs: true })
  const [before, after] = [from, to].map((commit) => new Map(filesOf(store, commit).map(({ path, id }) => [path, id])))
  if (!before || !after || before.size !== after.size) return false
  const changed = [...after].filter(([path, id]) => before.get(path) !== id).map(([path]) => path)
  if (changed.length > maxChangedFiles || changed.some((path) => !before.has(path))) return false
  const versions = changed.map((path) => ({ path, ids: [before.get(path)!, after.get(path)!] }))
  await fetchMissing(
    git,
    store,
    versions.flatMap(({ ids }) => ids.map((id) => ({ id }))),
  )
  return versions.every(({ path, ids }) => {
    const [old, now] = ids.map((id) => withoutMarkedValues(path, store.get(id)?.content))
    return old !== undefined && old === now
  })
}
