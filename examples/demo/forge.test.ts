import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { DemoForge } from './forge.ts'

let forge: DemoForge
let directory: string

beforeEach(async () => {
  forge = await DemoForge.start({ name: 'a.yaml', text: 'version: 1\n' }, systemClock)
  directory = mkdtempSync(join(tmpdir(), 'forge-'))
  writeFileSync(join(directory, 'ca.pem'), forge.ca)
})
afterEach(async () => {
  await forge[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

function git(...words: readonly string[]): Promise<string> {
  const { username = '', password = '' } = forge.credentials
  const header = `http.extraHeader=Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const settings = ['-c', header, '-c', `http.sslCAInfo=${join(directory, 'ca.pem')}`]
  const by = ['-c', 'user.name=Developer', '-c', 'user.email=developer@example.org']
  const env = { PATH: process.env.PATH, HOME: directory, GIT_TERMINAL_PROMPT: '0' }
  return new Promise((resolve, reject) => {
    execFile('git', [...settings, ...by, ...words], { cwd: directory, env }, (error, out) =>
      error ? reject(error) : resolve(out),
    )
  })
}

const hasGit = (() => {
  try {
    execFileSync('git', ['--version'])
    return true
  } catch {
    return false
  }
})()

describe.runIf(hasGit)('the demo’s forge, with the real git', () => {
  it('can be cloned and pushed to, and refuses a push that is not based on its head', async () => {
    await git('clone', '-q', forge.url, 'one')
    expect(readFileSync(join(directory, 'one/a.yaml'), 'utf8')).toBe('version: 1\n')
    await git('clone', '-q', forge.url, 'two')
    for (const [clone, text] of [
      ['one', 'version: 2\n'],
      ['two', 'version: 3\n'],
    ] as const) {
      writeFileSync(join(directory, clone, 'a.yaml'), text)
      await git('-C', clone, 'commit', '-qam', `say ${text.trim()}`)
    }
    await git('-C', 'one', 'push', '-q', 'origin', 'main')
    expect(forge.repository.read('main', 'a.yaml')).toBe('version: 2\n')
    await expect(git('-C', 'two', 'push', '-q', 'origin', 'main')).rejects.toThrow()
    expect(forge.repository.read('main', 'a.yaml')).toBe('version: 2\n')
  }, 30_000)

  it('refuses callers without credentials', async () => {
    const unknown = ['-c', `http.sslCAInfo=${join(directory, 'ca.pem')}`, 'ls-remote', forge.url]
    const env = { PATH: process.env.PATH, HOME: directory, GIT_TERMINAL_PROMPT: '0' }
    await expect(
      new Promise((resolve, reject) => {
        execFile('git', unknown, { env }, (error, out) => (error ? reject(error) : resolve(out)))
      }),
    ).rejects.toThrow()
  }, 30_000)
})
