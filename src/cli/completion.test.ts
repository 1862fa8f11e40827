import { configMaps } from '../kube/core-types.ts'
import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pipeline } from '../apis/pipeline.ts'
import { readConfig } from '../app/config/config.ts'
import { startUp, type Up } from '../app/embedded/up.ts'
import { Client } from '../client/client.ts'
import { loadKubeconfig } from '../client/kubeconfig.ts'
import { networkTransport } from '../client/network-transport.ts'
import { silentLogger } from '../runtime/observability/log.ts'
import { main } from './program.ts'

const program = join(import.meta.dirname, 'main.ts')
let directory: string
let up: Up
let env: Record<string, string>

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'completion-'))
  const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
  const client = new Client(network.transport)
  const type = configMaps
  for (const name of ['settings', 'secrets-of-the-shop'])
    await client.create(type, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
  const roles = { ...type, group: 'rbac.authorization.k8s.io', kind: 'Role', plural: 'roles' }
  const waiting = { promotionId: 'p1', revision: '1.2.0', since: '2026-11-01T00:00:00Z' }
  const environments = ['staging', 'prod'].map((name) => ({ name, targets: [{ namespace: 'default' }] }))
  const shop = await client.create(pipeline.type, {
    apiVersion: pipeline.apiVersion,
    kind: pipeline.kind,
    metadata: { name: 'shop', namespace: 'default' },
    spec: { appRef: { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' }, environments },
  })
  const status = { environments: { prod: { waitingApproval: waiting } } }
  await client.update(pipeline.type, { ...shop, status }, { subresource: 'status' })
  const evil = { name: '$(touch evil)', namespace: 'default' }
  await client.create(roles, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: evil, rules: [] })
  network.close()
  writeFileSync(join(directory, 'sojourn'), `#!/bin/sh\nexec '${process.execPath}' --no-warnings '${program}' "$@"\n`)
  chmodSync(join(directory, 'sojourn'), 0o755)
  env = { PATH: `${directory}:${process.env.PATH}`, HOME: directory, KUBECONFIG: up.kubeconfig, TERM: 'xterm' }
  for (const shell of ['bash', 'zsh', 'fish'])
    writeFileSync(join(directory, `complete.${shell}`), await said('completion', shell))
})
afterAll(async () => {
  await up?.stop()
  rmSync(directory, { recursive: true })
})

/** Asynchronous, because the server that the shells ask runs in this process. */
async function run(command: string, words: readonly string[]): Promise<string> {
  return (await promisify(execFile)(command, words, { env, timeout: 50_000 })).stdout
}
const said = (...words: readonly string[]) => run(join(directory, 'sojourn'), words)

/** What the program prints when a shell asks for completions. */
async function offered(words: readonly string[], kubeconfig = up.kubeconfig): Promise<readonly string[]> {
  let text = ''
  const out = (part: string) => void (text += part)
  const quiet = { isTerminal: false, isErrTerminal: false, colours: false, width: 80, height: 50 }
  const { signal } = new AbortController()
  const io = { out, err: out, env: { KUBECONFIG: kubeconfig }, now: () => Date.now(), signal, ...quiet }
  expect(await main(['__complete', ...words], io)).toBe(0)
  return text.split('\n').flatMap((line) => line.split('\t')[0] || [])
}

const has = (shell: string) => spawnSync(shell, ['--version']).status === 0
for (const shell of ['bash', 'zsh', 'fish'])
  if (!has(shell)) console.warn(`SKIPPED: completion was NOT tried in ${shell}: apt-get install -y ${shell}`)

describe('completions', () => {
  it.each([
    [['fo'], ['forecast']],
    [
      ['help', 'opt'],
      ['opt-out', 'opt-in'],
    ],
    [['status', '--all'], ['--all-namespaces']],
    [
      ['status', '-o', ''],
      ['table', 'json', 'yaml'],
    ],
    [['forecast', '--output=i'], ['--output=ical']],
    [['forecast', '--output', '=', 'i'], ['ical']],
    [
      ['departures', '--system', 'c'],
      ['cleaner', 'collector'],
    ],
    [['status', '-n', 'sojourn'], ['sojourn-system']],
    [['explain', 'configma'], ['configmap/']],
    [
      ['explain', 'cm/se'],
      ['cm/secrets-of-the-shop', 'cm/settings'],
    ],
    [['explain', '-n', 'sojourn-system', 'cm/se'], []],
    [['explain', 'namespace/def'], ['namespace/default']],
    [['status', '--kubeconfig', '/'], [':files']],
    [['import', 'swabbie', ''], [':files']],
    [['restore', ''], []],
    [['status', '--context', ''], ['sojourn']],
    [
      ['up', '--only', 'api,c'],
      ['api,cleaner', 'api,collector'],
    ],
    [['up', '--only', 'cleaner,collector,c'], []],
    [['up', '--log-level', 'd'], ['debug']],
    [['approve', 's'], ['shop']],
    [
      ['approve', 'shop', ''],
      ['prod', 'staging'],
    ],
    [['approve', 'shop', 'prod', ''], ['1.2.0']],
    [['approve', 'shop', 'staging', ''], []],
    [['approve', 'unheard-of', ''], []],
    [['xylophone', ''], []],
  ])('after %j', async (words, expected) => expect(await offered(words)).toEqual(expected))

  it('contain no name that a shell would interpret', async () =>
    expect(await offered(['explain', 'role/'])).toEqual([]))

  it('are empty when there is no cluster', async () =>
    expect(await offered(['status', '-n', ''], '/no/such')).toEqual([]))
})

describe('completion in the real shell', () => {
  it.runIf(has('bash'))('bash', async () => {
    const complete = (words: string, at: number) =>
      `COMP_WORDS=(${words}); COMP_CWORD=${at}; _sojourn; echo "\${COMPREPLY[@]}"`
    const lines = [
      `source ${join(directory, 'complete.bash')}`,
      complete('sojourn fo', 1),
      complete('sojourn forecast --as', 2),
      complete('sojourn status -o ""', 3),
      complete('sojourn explain configmap/set', 2),
    ]
    expect(await run('bash', ['-c', lines.join('; ')])).toBe(
      'forecast\n--assume\ntable json yaml\nconfigmap/settings\n',
    )
  })

  it.runIf(has('fish'))('fish', async () => {
    const typed = ['sojourn fo', 'sojourn forecast --as', 'sojourn status -o ', 'sojourn explain configmap/set']
    const lines = [`source ${join(directory, 'complete.fish')}`, ...typed.map((words) => `complete -C '${words}'`)]
    const answer = await run('fish', ['-c', lines.join('; ')])
    expect(
      answer
        .trim()
        .split('\n')
        .map((line) => line.split('\t')[0]),
    ).toEqual(['forecast', '--assume', 'json', 'table', 'yaml', 'configmap/settings'])
  })

  it.runIf(has('zsh'))(
    'zsh',
    async () => {
      const pty = [
        'zmodload zsh/zpty; zpty z zsh -f -i',
        `zpty -w z 'unsetopt beep; PS1="READY>"; autoload -Uz compinit; compinit -u -D; source ${join(directory, 'complete.zsh')}; echo LOADED'`,
        "zpty -r -m z out '*LOADED*READY>*'",
        String.raw`zpty -w -n z $'sojourn forec\t'; zpty -r -m z out '*forecast*'`,
        String.raw`zpty -w -n z $' --assu\t'; zpty -r -m z out '*--assume*'`,
        String.raw`zpty -w -n z $'\x15sojourn explain configma\t'; zpty -r -m z out '*configmap/*'`,
        String.raw`zpty -w -n z $'sett\t'; zpty -r -m z out '*settings*'`,
        'print DONE; zpty -d z',
      ].join('\n')
      expect(await run('zsh', ['-f', '-c', pty])).toContain('DONE')
    },
    60_000,
  )
})
