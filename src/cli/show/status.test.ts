import { configMaps, serviceAccounts } from '../../kube/core-types.ts'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner } from '../../apis/cleaner.ts'
import { cleanupPolicy } from '../../apis/cleanup-policy.ts'
import { pipeline } from '../../apis/pipeline.ts'
import { readConfig } from '../../app/config/config.ts'
import { startUp, type Up } from '../../app/embedded/up.ts'
import { Client } from '../../client/client.ts'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import type { KubeObject, ResourceType } from '../../kube/object.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { main } from '../program.ts'

const lastTransitionTime = '2026-11-01T00:00:00Z'
const ready = { type: 'Ready', status: 'True', reason: 'ReconciliationSucceeded', message: 'run 0', lastTransitionTime }

let directory: string
let up: Up
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'status-'))
  const flags = { data: join(directory, 'data'), port: '0', only: 'api', durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
  const client = new Client(network.transport)
  const create = async (type: ResourceType, object: KubeObject, status?: object) => {
    const created = await client.create(type, object)
    if (status) await client.update(type, { ...created, status }, { subresource: 'status' })
  }
  const appRef = { apiVersion: 'v1', kind: 'ConfigMap', name: 'shop' }
  await create(
    pipeline.type,
    {
      apiVersion: pipeline.apiVersion,
      kind: pipeline.kind,
      metadata: { name: 'shop', namespace: 'default' },
      spec: { appRef, environments: [{ name: 'dev', targets: [{ namespace: 'default' }] }] },
    },
    { conditions: [ready] },
  )
  for (let index = 0; index < 20; index++)
    await create(cleaner.type, {
      apiVersion: cleaner.apiVersion,
      kind: cleaner.kind,
      metadata: { name: `preview-${index}`, namespace: 'default' },
      spec: { ttl: '24h' },
    })
  await create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'report', namespace: 'default' } })
  await create(
    cleanupPolicy.type,
    {
      apiVersion: cleanupPolicy.apiVersion,
      kind: cleanupPolicy.kind,
      metadata: { name: 'unused' },
      spec: {
        dryRun: true,
        targets: [{ kubernetes: { resources: [{ kind: 'ConfigMap' }] } }],
        rules: [{ rules: [{ name: 'Unused' }] }],
      },
    },
    { locations: { kubernetes: { visited: 3, excluded: 1, violating: 1, wouldMark: ['ConfigMap default/report'] } } },
  )
  network.close()
})
afterAll(async () => {
  await up?.stop()
  rmSync(directory, { recursive: true })
})

interface Given {
  readonly colours?: boolean
  readonly isTerminal?: boolean
  readonly lines?: number
  readonly columns?: number
  readonly kubeconfig?: string
}

/** The output on a terminal of a hundred columns. */
async function said(words: readonly string[], given: Given = {}) {
  const { colours = false, isTerminal = false, lines = 50, columns = 100, kubeconfig = up.kubeconfig } = given
  const stop = new AbortController()
  let text = ''
  const out = (part: string) => {
    text += part
    // The output of a command with --watch is complete once the table is printed.
    if (words.includes('-w') && text.includes('OBJECT')) stop.abort(new Error('enough'))
  }
  await main([...words, '-n', 'default', '--kubeconfig', kubeconfig], {
    out,
    err: () => {},
    env: {},
    now: () => Date.now(),
    isTerminal,
    isErrTerminal: false,
    colours,
    width: columns,
    height: lines,
    signal: stop.signal,
  })
  return text
}

const quiet = {
  out: () => {},
  err: () => {},
  env: {},
  now: () => Date.now(),
  isTerminal: false,
  isErrTerminal: false,
  colours: false,
  width: 100,
  height: 50,
  signal: new AbortController().signal,
}

describe('status', () => {
  it('is coloured only where allowed; colours do not count as width', async () => {
    const plain = await said(['status'], { isTerminal: true })
    const coloured = await said(['status'], { isTerminal: true, colours: true })
    expect(plain).not.toContain('\u001B')
    expect(coloured).toContain('\u001B[34mNoRevision\u001B[0m')
    // eslint-disable-next-line no-control-regex
    expect(coloured.replaceAll(/\u001B\[\d+m/g, '')).toBe(plain)
  })

  it('does not show a pipeline without a revision as a success', async () => {
    const line = (await said(['status'])).split('\n').find((each) => each.includes('pipeline/shop'))
    expect(line).toMatch(/NoRevision .*no revision is ready in dev yet$/)
  })

  it('fits the screen with --watch, and says how many rows do not', async () => {
    const text = await said(['status', '-w'], { isTerminal: true, lines: 10 })
    const [, screen = ''] = text.split('\u001B[H\u001B[2J')
    const lines = screen.trimEnd().split('\n')
    expect(lines).toHaveLength(9)
    expect(lines.at(-1)).toBe('… and 14 more, due later')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100)
  })

  it('uses two lines per item on a narrow terminal, none wider than it', async () => {
    const lines = (await said(['status'], { isTerminal: true, columns: 60 })).trimEnd().split('\n')
    expect(lines[0]).toMatch(/^OBJECT +STATE +NEXT +IN$/)
    expect(lines[1]).toMatch(/^cleaner\/preview-\d+ +/)
    expect(lines[2]).toBe('  cleaner: not evaluated yet')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60)
    const few = await said(['status', '-w'], { isTerminal: true, columns: 60, lines: 10 })
    expect(few.split('\u001B[H\u001B[2J')[1]?.trimEnd().split('\n').at(-1)).toBe('… and 18 more, due later')
  })

  it('says first that nothing is deleted, and how to change that', async () => {
    await main(['departures', '--pause', '--kubeconfig', up.kubeconfig], quiet)
    const paused = await said(['status'])
    await main(['departures', '--resume', '--kubeconfig', up.kubeconfig], quiet)
    expect(paused).toMatch(
      /^Nothing is deleted now: deletions are paused; "sojourn departures --resume" resumes them\n/,
    )
    expect(await said(['status'])).toMatch(/^OBJECT/)
  })

  it('names kinds that may not be read instead of showing none', async () => {
    const [, token = ''] = /token: "?([^"\n]*)/.exec(readFileSync(up.kubeconfig, 'utf8')) ?? []
    const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }))
    const client = new Client(network.transport)
    const metadata = { name: 'stranger', namespace: 'default' }
    await client.create(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata })
    const { body } = await client.request({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts/stranger/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    network.close()
    const kubeconfig = join(directory, 'stranger')
    const theirs = (body as { status: { token: string } }).status.token
    writeFileSync(kubeconfig, readFileSync(up.kubeconfig, 'utf8').replace(token, theirs))
    const text = await said(['status'], { kubeconfig })
    expect(text).not.toContain('Sojourn manages nothing')
    expect(text).toMatch(/Not included, because you may not read them.*: cleaners\.cleaner\.vtex\.dev.*\.\n$/)
  })

  it('keeps watching while the server is unreachable, and says so', async () => {
    const data = join(directory, 'away')
    const start = (port: string) =>
      startUp(readConfig({ flags: { data, port, only: 'api', durable: false }, env: {} }), silentLogger)
    const first = await start('0')
    const stop = new AbortController()
    let text = ''
    const awaiting = new Map<RegExp, () => void>()
    const seen = (pattern: RegExp) => new Promise<void>((resolve) => awaiting.set(pattern, resolve))
    const shown = seen(/Sojourn manages nothing/)
    const out = (part: string) => {
      text += part
      for (const [pattern, resolve] of awaiting) if (pattern.test(text)) resolve()
    }
    const running = main(['status', '-A', '-w', '--kubeconfig', first.kubeconfig], {
      ...quiet,
      out,
      isTerminal: true,
      signal: stop.signal,
    })
    await shown
    text = ''
    const missed = seen(/not refreshed since 20.*retrying\nSojourn manages nothing/)
    await first.stop()
    await missed
    const again = await start(new URL(first.api).port)
    text = ''
    await seen(/\[2JSojourn manages nothing/)
    stop.abort(new Error('enough'))
    expect(await running).toBe(0)
    await again.stop()
  }, 60_000)

  it('prints all rows in a pipe', async () => expect((await said(['status'])).split('preview-')).toHaveLength(21))
})

describe('explain, in a dry run', () => {
  it('says of an object which policy would mark it', async () =>
    expect(await said(['explain', 'configmap/report'])).toContain(
      'CleanupPolicy unused would mark it now, but only dry-runs.',
    ))

  it('says of a policy what it would mark', async () =>
    expect(await said(['explain', 'cleanuppolicy/unused'])).toContain(
      'Dry run: in kubernetes it would mark ConfigMap default/report.',
    ))

  it('says nothing about objects that no policy would mark', async () =>
    expect(await said(['explain', 'cleaner/preview-1'])).not.toContain('CleanupPolicy'))
})
