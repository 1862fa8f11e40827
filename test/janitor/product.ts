import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const program = resolve(import.meta.dirname, '../../bin/sojourn.js')

/** The product in a process of its own. */
export interface Product extends AsyncDisposable {
  /** What its first line says: `api`, `kubeconfig`, `url` … */
  readonly facts: Readonly<Record<string, string>>
  /** Everything it has printed and logged so far. */
  readonly printed: () => string
}

/** Runs `sojourn WORDS` until its first line, which says where it is. */
export async function startProduct(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Product> {
  const child = spawn(process.execPath, [program, ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  const { promise, resolve: found, reject } = Promise.withResolvers<string>()
  const ended = new Promise<void>((done) => child.once('exit', () => done()))
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8')
      const line = /^sojourn (?:ready|running) .*$/m.exec(printed)?.[0]
      if (line) found(line)
    })
  void ended.then(() => reject(new Error(`sojourn ${words.join(' ')} ended:\n${printed}`)))
  const line = await promise
  return {
    facts: Object.fromEntries([...line.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value])),
    printed: () => printed,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** A folder that is gone afterwards. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'sojourn-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}
