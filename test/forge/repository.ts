import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A bare repository on disk, worked on with the real git. */
export class Repository {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static async create(root: string, name: string): Promise<Repository> {
    const path = join(root, `${name}.git`)
    await run('git', ['init', '--quiet', '--bare', '--initial-branch=main', path])
    const repository = new Repository(path)
    for (const [key, value] of [
      ['http.receivepack', 'true'],
      ['uploadpack.allowFilter', 'true'],
      ['user.name', 'Human'],
      ['user.email', 'human@example.org'],
    ] as const)
      await repository.git('config', key, value)
    return repository
  }

  static async temporaryRoot(): Promise<string> {
    return mkdtemp(join(tmpdir(), 'sojourn-forge-'))
  }

  static async removeRoot(root: string): Promise<void> {
    await rm(root, { recursive: true, force: true })
  }

  async git(...args: string[]): Promise<string> {
    const { stdout } = await run('git', ['-C', this.path, ...args], { maxBuffer: 64 * 1024 * 1024 })
    return stdout.trimEnd()
  }

  /** Commits files on top of a branch, as a human would; null removes one. */
  async commit(branch: string, files: Record<string, string | null>, message = 'change'): Promise<string> {
    const parent = await this.tip(branch)
    const parts = [
      `commit refs/heads/${branch}\ncommitter Human <human@example.org> ${Math.floor(Date.now() / 1000)} +0000\n`,
      data(message),
      parent ? `from ${parent}\n` : '',
      ...Object.entries(files).map(([path, content]) =>
        content === null ? `D ${quoted(path)}\n` : `M 100644 inline ${quoted(path)}\n${data(content)}`,
      ),
    ]
    await this.#import(parts.join(''))
    return (await this.tip(branch)) ?? ''
  }

  async #import(stream: string): Promise<void> {
    const started = run('git', ['-C', this.path, 'fast-import', '--quiet', '--force'])
    started.child.stdin?.on('error', () => {})
    started.child.stdin?.end(stream)
    await started
  }

  async tip(branch: string): Promise<string | undefined> {
    try {
      return await this.git('rev-parse', '--verify', '--quiet', `refs/heads/${branch}`)
    } catch {
      return undefined
    }
  }

  async branches(): Promise<string[]> {
    const text = await this.git('for-each-ref', '--format=%(refname:short)', 'refs/heads')
    return text === '' ? [] : text.split('\n')
  }

  async file(branch: string, path: string): Promise<string> {
    const { stdout } = await run('git', ['-C', this.path, 'show', `${branch}:${path}`], { encoding: 'utf8' })
    return stdout
  }

  /** How many commits a branch has that another has not. */
  async ahead(branch: string, of: string): Promise<number> {
    return Number(await this.git('rev-list', '--count', `refs/heads/${of}..refs/heads/${branch}`))
  }

  /** Whether a merge would have conflicts. */
  async conflicts(head: string, base: string): Promise<boolean> {
    const [headTip, baseTip] = [await this.tip(head), await this.tip(base)]
    // As GitLab says of a merge request whose branch was deleted: it cannot be merged.
    if (!headTip || !baseTip) return !headTip
    return this.git('merge-tree', '--write-tree', baseTip, headTip).then(
      () => false,
      () => true,
    )
  }

  /** Merges for real; undefined when there is a conflict. */
  async merge(head: string, base: string, squash: boolean): Promise<string | undefined> {
    const [headTip, baseTip] = [await this.tip(head), await this.tip(base)]
    if (!headTip || !baseTip) return undefined
    let tree
    try {
      tree = (await this.git('merge-tree', '--write-tree', baseTip, headTip)).split('\n')[0] ?? ''
    } catch {
      return undefined
    }
    const parents = squash ? ['-p', baseTip] : ['-p', baseTip, '-p', headTip]
    const commit = await this.git('commit-tree', tree, ...parents, '-m', `merge ${head}`)
    await this.git('update-ref', `refs/heads/${base}`, commit, baseTip)
    return commit
  }
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`
}

function quoted(path: string): string {
  return JSON.stringify(path)
}
