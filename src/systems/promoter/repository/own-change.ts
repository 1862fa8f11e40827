import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { GitRemote } from '../../../git/remote.ts'
import { commitOf } from '../model/revision.ts'
import { fetchMissing, filesOf } from './change.ts'
import { withoutMarkedValues } from './markers.ts'

const maxChangedFiles = 200

/**
 * Whether two commits differ only in marked values: then promotions made the difference, of whatever pipeline, and however they were
 * merged. Where the first environment follows the branch that promotions write to, such a commit must not start a run.
 */
export async function isOwnChange(git: GitRemote, { revision, fromRevision = '' }: Promotion): Promise<boolean> {
  const [from, to] = [commitOf(fromRevision), commitOf(revision)]
  if (!from || !to) return false
  const store = await git.fetch({ wants: [from, to], depth: 1, withoutBlobs: true })
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
