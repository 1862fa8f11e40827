import {
  commitOf,
  idOf,
  parseCommit,
  parseTree,
  treeOf,
  type GitObject,
  type Authorship,
} from '../../src/git/objects.ts'
import { readPack, writePack, type ObjectStore } from '../../src/git/pack.ts'
import { flush, packet, packets, textOf, noObject } from '../../src/git/remote.ts'

/** A small git repository in memory, served over git's smart HTTP protocol, version 0. */
export class GitRepository {
  readonly #objects: ObjectStore = new Map()
  /** Branches by name. */
  readonly #branches = new Map<string, string>()

  /** The commit of a branch. */
  branch(name: string): string | undefined {
    return this.#branches.get(name)
  }

  /** Commits a tree with this one file. */
  commitFile(branch: string, file: { readonly name: string; readonly text: string }, given: CommitOptions): string {
    const blob = this.#add({ type: 'blob', content: Buffer.from(file.text) })
    const tree = this.#add(treeOf([{ mode: '100644', name: file.name, id: blob }]))
    const parent = this.#branches.get(branch)
    const info = { tree, parents: parent ? [parent] : [], message: given.message }
    return this.#setBranch(branch, this.#add(commitOf(info, given.by)))
  }

  /** The text of a file at the head of a branch. */
  read(branch: string, name: string): string | undefined {
    const tree = this.#treeOf(this.#branches.get(branch) ?? '')
    const entry = tree?.find((candidate) => candidate.name === name)
    return entry && this.#objects.get(entry.id)?.content.toString('utf8')
  }

  /** Merges `head` into `base` with a merge commit. */
  merge(base: string, head: string, given: CommitOptions): string {
    const [into, from] = [this.#branches.get(base), this.#branches.get(head)]
    const merged = from && this.#objects.get(from)
    if (!into || !from || !merged) throw new Error(`there is no branch ${into ? head : base}`)
    const { tree } = parseCommit(merged.content)
    return this.#setBranch(base, this.#add(commitOf({ tree, parents: [into, from], message: given.message }, given.by)))
  }

  /** The answer to `GET info/refs?service=…`. */
  advertise(service: string): Buffer {
    const isForReading = service === 'git-upload-pack'
    const features = isForReading
      ? 'shallow ofs-delta symref=HEAD:refs/heads/main'
      : 'report-status delete-refs ofs-delta'
    const refs = [...this.#branches].map(([name, id]) => `${id} refs/heads/${name}`).toSorted()
    const main = isForReading ? this.#branches.get('main') : undefined
    const [first = `${noObject} capabilities^{}`, ...others] = [...(main ? [`${main} HEAD`] : []), ...refs]
    const lines = [`${first}\0${features} agent=sojourn-demo\n`, ...others.map((line) => `${line}\n`)]
    return Buffer.concat([packet(`# service=${service}\n`), flush, ...lines.map(packet), flush])
  }

  /** The answer to `POST git-upload-pack`: all wanted objects in one pack. */
  uploadPack(request: Buffer): Buffer {
    const lines = [...packets(request)].flatMap(({ packet: each }) => textOf(each) ?? [])
    const wants = lines.flatMap((line) => /^want ([0-9a-f]{40})/.exec(line)?.[1] ?? [])
    const isShallow = lines.some((line) => line.startsWith('deepen '))
    const wanted = new Map<string, GitObject>()
    for (const want of wants) this.#collect(want, isShallow, wanted)
    const cut = isShallow ? [...wants.map((want) => packet(`shallow ${want}\n`)), flush] : []
    return Buffer.concat([...cut, packet('NAK\n'), writePack(wanted.values())])
  }

  /** The answer to `POST git-receive-pack`. A branch moves only from the commit that the client expects. */
  async receivePack(request: Buffer): Promise<Buffer> {
    const commands: string[] = []
    let rest = request
    for (const { packet: each, end } of packets(request)) {
      rest = request.subarray(end)
      if (each === 'flush') break
      commands.push(textOf(each)?.split('\0')[0] ?? '')
    }
    if (rest.length > 0) for (const [id, object] of await readPack(rest)) this.#objects.set(id, object)
    const report = commands.map((command) => this.#updateRef(command))
    return Buffer.concat([packet('unpack ok\n'), ...report.map(packet), flush])
  }

  #updateRef(command: string): string {
    const [from = '', to = '', ref = ''] = command.split(' ')
    const name = ref.replace(/^refs\/heads\//, '')
    if ((this.#branches.get(name) ?? noObject) !== from) return `ng ${ref} the branch has moved\n`
    if (to === noObject) this.#branches.delete(name)
    else this.#setBranch(name, to)
    return `ok ${ref}\n`
  }

  #setBranch(branch: string, commit: string): string {
    this.#branches.set(branch, commit)
    return commit
  }

  #add(object: GitObject): string {
    const id = idOf(object)
    this.#objects.set(id, object)
    return id
  }

  #treeOf(commit: string) {
    const object = this.#objects.get(commit)
    const tree = object && this.#objects.get(parseCommit(object.content).tree)
    return tree && parseTree(tree.content)
  }

  #collect(id: string, isShallow: boolean, into: Map<string, GitObject>): void {
    const object = this.#objects.get(id)
    if (!object || into.has(id)) return
    into.set(id, object)
    if (object.type === 'tree') for (const entry of parseTree(object.content)) this.#collect(entry.id, isShallow, into)
    if (object.type !== 'commit') return
    const { tree, parents } = parseCommit(object.content)
    this.#collect(tree, isShallow, into)
    if (!isShallow) for (const parent of parents) this.#collect(parent, isShallow, into)
  }
}

export interface CommitOptions {
  readonly message: string
  readonly by: Authorship
}
