import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { main } from './program.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'completion-'))
})
afterAll(() => rmSync(directory, { recursive: true }))

/** Where the script for a shell is. */
async function script(shell: string): Promise<string> {
  let text = ''
  const out = (part: string) => void (text += part)
  const quiet = { isTerminal: false, isErrTerminal: false, colours: false, width: 80 }
  const { signal } = new AbortController()
  expect(await main(['completion', shell], { out, err: out, env: {}, now: () => 0, signal, ...quiet })).toBe(0)
  const path = join(directory, `complete.${shell}`)
  writeFileSync(path, text)
  return path
}

const has = (shell: string) => spawnSync(shell, ['--version']).status === 0

describe('completion in the real shell', () => {
  it.runIf(has('bash'))('bash', async () => {
    const complete = (words: string, at: number) =>
      `COMP_WORDS=(${words}); COMP_CWORD=${at}; _sojourn; echo "\${COMPREPLY[@]}"`
    const program = [`source ${await script('bash')}`, complete('sojourn fo', 1), complete('sojourn forecast --as', 2)]
    expect(execFileSync('bash', ['-c', program.join('; ')], { encoding: 'utf8' })).toBe('forecast\n--assume\n')
  })

  it.runIf(has('fish'))('fish', async () => {
    const program = `source ${await script('fish')}; complete -C 'sojourn fo'; complete -C 'sojourn forecast --as'`
    const lines = execFileSync('fish', ['-c', program], { encoding: 'utf8' }).trim().split('\n')
    expect(lines.map((line) => line.split('\t')[0])).toEqual(['forecast', '--assume'])
  })

  it.runIf(has('zsh'))(
    'zsh',
    async () => {
      const pty = [
        'zmodload zsh/zpty; zpty z zsh -f -i',
        `zpty -w z 'PS1="READY>"; autoload -Uz compinit; compinit -u -D; source ${await script('zsh')}; echo LOADED'`,
        "zpty -r -m z out '*LOADED*READY>*'",
        String.raw`zpty -w -n z $'sojourn forec\t'; zpty -r -m z out '*forecast*'`,
        String.raw`zpty -w -n z $' --assu\t'; zpty -r -m z out '*--assume*'`,
        'print DONE; zpty -d z',
      ].join('\n')
      const { stdout } = spawnSync('zsh', ['-f', '-c', pty], { encoding: 'utf8', timeout: 20_000 })
      expect(stdout).toContain('DONE')
    },
    30_000,
  )
})
