import { createHash } from 'node:crypto'

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'

/** A git object. Its id is a hash of type and content. */
export interface GitObject {
  readonly type: ObjectType
  readonly content: Buffer
}

/** An entry of a tree. `name` holds raw bytes as Latin-1. */
export interface TreeEntry {
  readonly mode: string
  readonly name: string
  readonly id: string
}

/** The parts of a commit that do not depend on its author. */
export interface CommitInfo {
  readonly tree: string
  readonly parents: readonly string[]
  readonly message: string
}

/** Author and time of a commit. */
export interface Authorship {
  readonly name: string
  readonly email: string
  readonly atMs: number
}

/** The id of an object: SHA-1 over its type, size and content. */
export function idOf({ type, content }: GitObject): string {
  return createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')
}

/** Parses a tree (mode, name, 20-byte id per entry). */
export function parseTree(content: Buffer): TreeEntry[] {
  const entries: TreeEntry[] = []
  let position = 0
  while (position < content.length) {
    const space = content.indexOf(0x20, position)
    const end = content.indexOf(0, space)
    if (space < 0 || end < 0) throw new Error('the git server sent an invalid tree')
    entries.push({
      mode: content.toString('latin1', position, space),
      // File names are arbitrary bytes; Latin-1 preserves each of them.
      name: content.toString('latin1', space + 1, end),
      id: content.toString('hex', end + 1, end + 21),
    })
    position = end + 21
  }
  return entries
}

/** Encodes a tree. The entries must keep git's order. */
export function treeOf(entries: readonly TreeEntry[]): GitObject {
  const parts = entries.flatMap(({ mode, name, id }) => [
    Buffer.from(`${mode} ${name}\0`, 'latin1'),
    Buffer.from(id, 'hex'),
  ])
  return { type: 'tree', content: Buffer.concat(parts) }
}

export function parseCommit(content: Buffer): CommitInfo {
  const text = content.toString('utf8')
  const blank = text.indexOf('\n\n')
  const headers = (blank < 0 ? text : text.slice(0, blank)).split('\n')
  const of = (name: string) =>
    headers.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1))
  return { tree: of('tree')[0] ?? '', parents: of('parent'), message: blank < 0 ? '' : text.slice(blank + 2) }
}

/** A commit. The same arguments always give the same id. */
export function commitOf(info: CommitInfo, by: Authorship, signature?: string): GitObject {
  const author = `${clean(by.name)} <${clean(by.email)}> ${Math.floor(by.atMs / 1000)} +0000`
  const lines = [
    `tree ${info.tree}`,
    ...info.parents.map((parent) => `parent ${parent}`),
    `author ${author}`,
    `committer ${author}`,
    // Continuation lines of a header begin with a space.
    ...(signature === undefined ? [] : [`gpgsig ${signature.trimEnd().replaceAll('\n', '\n ')}`]),
    '',
    info.message,
  ]
  return { type: 'commit', content: Buffer.from(lines.join('\n')) }
}

/** Removes characters that would break the author line. */
function clean(text: string): string {
  return text.replace(/[<>\p{Cc}]/gu, ' ').trim()
}
