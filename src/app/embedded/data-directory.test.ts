import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { ConfigError } from '../../client/cluster-config.ts'
import { lockDataDirectory } from './data-directory.ts'

const folder = mkdtempSync(join(tmpdir(), 'data-directory-'))
afterAll(() => rmSync(folder, { recursive: true }))

it('names the flag when the directory cannot be made', () => {
  writeFileSync(join(folder, 'file'), '')
  const lock = () => lockDataDirectory(join(folder, 'file/data'))
  expect(lock).toThrow(ConfigError)
  expect(lock).toThrow(/ENOTDIR.*file\/data'.*--data/)
})

it.each([
  ['node /checkout/src/cli/main.ts up', true],
  ['node /usr/lib/node_modules/.bin/sojourn up', true],
  ['node /app/dist/cli.js up', true],
  ['/usr/local/bin/kubectl-sojourn up', true],
  ['postgres', false],
])('is locked while a process runs as %s: %s', (command, isLocked) => {
  const [, ...words] = command.split(' ')
  const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', ...words], {
    argv0: command.split(' ')[0],
    stdio: 'ignore',
  })
  try {
    const directory = lockDataDirectory(join(folder, 'data'))
    writeFileSync(directory.file('pid'), `${holder.pid}\n`)
    const lock = () => lockDataDirectory(join(folder, 'data'))
    if (isLocked) expect(lock).toThrow(`in use by another sojourn (pid ${holder.pid})`)
    else expect(lock).not.toThrow()
    directory.release()
  } finally {
    holder.kill('SIGKILL')
  }
})
