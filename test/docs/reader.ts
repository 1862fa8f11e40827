import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ensureTool, type Tool } from '../../scripts/reference-cluster/tools.ts'

const root = join(import.meta.dirname, '../..')

/** Somebody with a fresh checkout and two terminals: in the first runs `sojourn up`, unless they have a cluster; in the second they type what a page says. */
export class Reader implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'sojourn-reader-'))
  readonly #bin = join(this.folder, 'bin')
  readonly #kubeconfig: string
  readonly #up: ChildProcess | undefined
  #proxy = ''

  private constructor(kubeconfig: string | undefined) {
    mkdirSync(this.#bin)
    for (const name of ['examples', 'deploy']) symlinkSync(join(root, name), join(this.folder, name))
    const program = `"${process.execPath}" "${join(root, 'bin/sojourn.js')}"`
    this.#tool('sojourn', `exec ${program} "$@"`)
    // `npm run --silent sojourn --` is the same program, in the folder of the checkout.
    this.#tool('npm', `shift 4\nexec ${program} "$@"`)
    this.#kubeconfig = kubeconfig ?? join(this.folder, '.sojourn/kubeconfig')
    if (kubeconfig !== undefined) {
      mkdirSync(join(this.folder, '.kube'))
      symlinkSync(kubeconfig, join(this.folder, '.kube/config'))
      return
    }
    const flags = ['up', '--port=0', '--proxy-port=0']
    this.#up = spawn(process.execPath, [join(root, 'bin/sojourn.js'), ...flags], { cwd: this.folder })
  }

  static async begin(): Promise<Reader> {
    const reader = new Reader(undefined)
    await reader.#takes('kubectl', 'helm')
    reader.#proxy = await reader.#ready()
    return reader
  }

  /** With a cluster of their own. */
  static async at(kubeconfig: string): Promise<Reader> {
    const reader = new Reader(kubeconfig)
    await reader.#takes('kubectl', 'helm')
    return reader
  }

  /** Types a block into a shell that stops at the first line that fails. Gives what was printed. */
  types(block: string): Promise<{ readonly code: number | null; readonly output: string }> {
    return this.#listen(this.#shell(block))
  }

  /** Types what goes on until it is stopped, waits for these words, and stops it. */
  async starts(block: string, words: string): Promise<{ readonly code: number | null; readonly output: string }> {
    const shell = this.#shell(`exec ${block.trim()}`)
    const ended = this.#listen(shell)
    const said = new Promise<void>((resolve) => {
      let output = ''
      shell.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()).includes(words) && resolve())
    })
    await Promise.race([said, ended])
    shell.kill('SIGTERM')
    return ended
  }

  #shell(block: string): ChildProcess {
    const script = block.replaceAll('http://127.0.0.1:7080', this.#proxy)
    const env = {
      PATH: [this.#bin, process.env['PATH']].join(delimiter),
      HOME: this.folder,
      KUBECONFIG: this.#kubeconfig,
    }
    return spawn('sh', ['-e', '-c', script], { cwd: this.folder, env })
  }

  #listen(shell: ChildProcess): Promise<{ readonly code: number | null; readonly output: string }> {
    return new Promise((resolve, reject) => {
      let output = ''
      shell.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
      shell.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
      shell.on('error', reject)
      shell.on('close', (code) => resolve({ code, output }))
    })
  }

  /** Puts a file into the folder. */
  has(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#up) {
      const ended = new Promise((resolve) => this.#up?.once('close', resolve))
      this.#up.kill('SIGTERM')
      await ended
    }
    rmSync(this.folder, { recursive: true, force: true })
  }

  async #takes(...tools: readonly Tool[]): Promise<void> {
    for (const tool of tools) symlinkSync(await ensureTool(tool), join(this.#bin, tool))
  }

  #tool(name: string, script: string): void {
    writeFileSync(join(this.#bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(this.#bin, name), 0o755)
  }

  /** Where the proxy is, once everything is ready. */
  #ready(): Promise<string> {
    return new Promise((resolve, reject) => {
      let said = ''
      const listen = (chunk: Buffer) => {
        said += chunk.toString()
        const proxy = /sojourn ready .*proxy=(\S+)/.exec(said)?.[1]
        if (proxy) resolve(proxy)
      }
      this.#up?.stdout?.on('data', listen)
      this.#up?.stderr?.on('data', listen)
      this.#up?.once('close', (code) => reject(new Error(`sojourn up ended with ${code}: ${said}`)))
    })
  }
}

/** The shell blocks of a page, in order, each with the words before it. */
export function shellBlocks(page: string): readonly (readonly [string, string])[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/([^\n]*)\n+ *```sh\n(.*?)^ *```$/gms)].map(([, before = '', block = '']) => [
    before.replaceAll(/[*`]/g, '').slice(0, 60),
    block,
  ])
}

/** The commands in the running text of a page, each once, in order. */
export function inlineCommands(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const found = text.matchAll(/`((?:sojourn|kubectl|helm) [^`]+)`/g)
  return [...new Set([...found].map(([, command = '']) => command.replaceAll(String.raw`\|`, '|')))]
}

/** Pages of the documentation that show whole manifests. */
export function pagesWithManifests(): readonly string[] {
  const pages = globSync(['README.md', 'docs/*.md', 'docs/{guide,spec,migrate}/*.md'], { cwd: root }).toSorted()
  return pages.filter((page) => manifestsOf(page).length > 0)
}

/** The manifests a page shows, each as it stands there. */
export function manifestsOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)]
    .flatMap(([, block = '']) => block.split(/^---$/m))
    .filter((manifest) => /^apiVersion:/m.test(manifest) && /^kind:/m.test(manifest))
}
