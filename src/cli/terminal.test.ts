import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../app/config/config.ts'
import { startUp, type Up } from '../app/embedded/up.ts'
import { silentLogger } from '../runtime/observability/log.ts'

const command = `'${process.execPath}' --no-warnings '${join(import.meta.dirname, 'main.ts')}' forecast --for 1d`
const hasTerminals = spawnSync('script', ['--version']).status === 0
if (!hasTerminals) console.warn('SKIPPED: nothing was tried on a real terminal: apt-get install -y bsdutils')

describe('the program itself', () => {
  let directory: string
  let up: Up
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'terminal-'))
    const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
    up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  })
  afterAll(async () => {
    await up?.stop()
    rmSync(directory, { recursive: true })
  })

  const run = async (program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const given = { PATH: process.env.PATH ?? '', KUBECONFIG: up.kubeconfig, TERM: 'xterm', ...env }
    const { stdout, stderr } = await promisify(execFile)(program, words, { env: given })
    return stdout + stderr
  }

  it('ends silently when the reader closes the pipe', async () => {
    const main = `'${process.execPath}' --no-warnings '${join(import.meta.dirname, 'main.ts')}'`
    const headOf = (words: string) => run('sh', ['-c', `{ ${main} ${words}; echo "code $?" >&2; } | head -n 1`])
    // More output than a pipe buffers, and a table that never ends.
    expect(await headOf('install --crds-only')).toBe('---\ncode 0\n')
    expect(await headOf('status -A -w')).toBe(
      'Sojourn manages nothing here yet. Apply an EnvironmentClass, or try "sojourn demo" on a running "sojourn up".\ncode 0\n',
    )
  })

  it('writes no cursor movements and no colours to a pipe', async () =>
    expect(await run('sh', ['-c', command])).not.toContain('\u001B'))

  it.runIf(hasTerminals)('shows a bar on a terminal, and no colour where NO_COLOR is set', async () => {
    const said = await run('script', ['-qec', command, '/dev/null'], { NO_COLOR: '1' })
    expect(said).toContain('looking ahead')
    expect(said).toContain('\r\u001B[K')
    // eslint-disable-next-line no-control-regex
    expect(said).not.toMatch(/\u001B\[[0-9;]*m/)
  })
}, 60_000)
