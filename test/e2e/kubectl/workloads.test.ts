import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ensureTool } from '../../../scripts/reference-cluster/tools.ts'
import type { Pod } from '../../../src/workloads/types.ts'
import { isAlive, isReady, pidOf, until } from '../../node-world.ts'
import { startSojourn, type SojournProcess } from '../activator/sojourn-process.ts'
import { describeWith } from './session.ts'

interface Ran {
  readonly code: number
  readonly out: string
  readonly errors: string
}

let directory: string
let program: string
let server: SojournProcess

const start = () =>
  startSojourn(['up', '--only', 'api,workloads,collector', '--port', '0', '--data', directory, '--no-durable'])

function kubectl(args: string, stdin?: unknown): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      ['--kubeconfig', join(directory, 'kubeconfig'), ...args.split(' ')],
      { timeout: 60_000 },
      (error, out, errors) => resolve({ code: error ? 1 : 0, out, errors }),
    )
    // It may end without reading all; its exit code tells.
    child.stdin?.on('error', () => {})
    child.stdin?.end(stdin === undefined ? '' : JSON.stringify(stdin))
  })
}

async function run(args: string, stdin?: unknown): Promise<string> {
  const { code, out, errors } = await kubectl(args, stdin)
  if (code !== 0) throw new Error(`kubectl ${args}: ${errors}`)
  return out
}

async function podsOf(app: string): Promise<readonly Pod[]> {
  return (JSON.parse(await run(`get pods -l app=${app} -o json`)) as { items: Pod[] }).items
}

function workload(kind: string, name: string, fields: Record<string, unknown> = {}) {
  const labels = { app: name }
  const container = {
    name: 'c',
    image: 'none',
    command: ['sh', '-c', 'echo "$V"; exec sleep 1000'],
    env: [{ name: 'V', value: '1' }],
  }
  const spec = { terminationGracePeriodSeconds: 1, containers: [container] }
  const meta = { metadata: { name, labels } }
  return {
    apiVersion: 'apps/v1',
    kind,
    ...meta,
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec }, ...fields },
  }
}

await describeWith(['kubectl'], 'workloads, by kubectl', () => {
  beforeAll(async () => {
    program = await ensureTool('kubectl')
    directory = mkdtempSync(join(tmpdir(), 'sojourn-'))
    server = await start()
  })
  afterAll(async () => {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it.each([
    ['Deployment', { replicas: 2 }],
    ['StatefulSet', { replicas: 2, serviceName: 'x' }],
    ['DaemonSet', {}],
  ])('rolls a %s out, back and out again', async (kind, fields) => {
    const name = kind.toLowerCase()
    const values = async () => (await podsOf(name)).map(({ spec }) => spec.containers[0]?.env?.[0]?.value)
    const settle = async () => {
      await run(`rollout status ${name}/${name} --timeout=30s`)
      // A terminating Pod may still be listed.
      await until(async () => new Set(await values()).size === 1)
      return (await values())[0]
    }
    await run('create -f -', workload(kind, name, fields))
    expect(await settle()).toBe('1')
    await run(`set env ${name}/${name} V=2`)
    expect(await settle()).toBe('2')
    expect(await run(`rollout history ${name}/${name}`)).toMatch(/^1 .*\n2 /m)
    await run(`rollout undo ${name}/${name}`)
    expect(await settle()).toBe('1')
    expect(await run(`rollout history ${name}/${name}`)).toMatch(/^2 .*\n3 /m)
    const before = (await podsOf(name)).map(({ metadata }) => metadata.uid)
    await run(`rollout restart ${name}/${name}`)
    await settle()
    expect((await podsOf(name)).filter(({ metadata }) => before.includes(metadata.uid))).toEqual([])
    await run(`delete ${name}/${name} --wait --cascade=foreground`)
  })

  it('drains the node within its disruption budgets, and schedules again after uncordon', async () => {
    await run('create -f -', workload('Deployment', 'kept', { replicas: 2 }))
    await run('create pdb kept --selector=app=kept --min-available=1')
    await run('rollout status deployment/kept --timeout=30s')
    await until(async () => (await run('get pdb kept -o jsonpath={.status.disruptionsAllowed}')) === '1')
    const drained = await kubectl('drain sojourn --ignore-daemonsets --force --timeout=3s')
    expect(drained.errors).toContain("violate the pod's disruption budget")
    const left = await podsOf('kept')
    expect(left.filter(isReady)).toHaveLength(1)
    expect(left.filter(({ spec }) => !spec.nodeName)).toHaveLength(1)
    expect(await run('get pods -l app=kept')).toContain('Pending')
    await run('uncordon sojourn')
    await until(async () => (await podsOf('kept')).filter(isReady).length === 2)
    await run('delete deployment/kept pdb/kept --wait --cascade=foreground')
  })

  it('shows the log of a crashed container, follows a running one, and reports a missing one', async () => {
    const crash = { name: 'c', image: 'none', command: ['sh', '-c', 'echo boom; exit 3'] }
    await run('create -f -', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'crash' },
      spec: { containers: [crash] },
    })
    await until(async () => (await run('get pod crash')).includes('CrashLoopBackOff'))
    // A container that has just started has no output yet.
    await until(async () => (await run('logs crash')) === 'boom\n')
    await until(async () => (await run('logs crash --previous')) === 'boom\n')
    const counting = { name: 'c', image: 'none', command: ['sh', '-c', 'for i in 1 2 3; do echo $i; sleep 0.2; done'] }
    const spec = { restartPolicy: 'Never', containers: [counting] }
    await run('create -f -', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'counts' }, spec })
    await until(async () => /Running|Completed/.test(await run('get pod counts')))
    expect(await run('logs -f counts')).toBe('1\n2\n3\n')
    expect(await run('logs counts --tail=1')).toBe('3\n')
    expect(await run('logs counts --limit-bytes=3')).toBe('1\n2')
    expect((await kubectl('logs counts --previous')).errors).toContain(
      'previous terminated container "c" in pod "counts" not found',
    )
    await run('delete pod crash counts --wait')
  })

  it('says by an Event which volumes are not mounted', async () => {
    const container = { name: 'c', image: 'none', command: ['sleep', '600'] }
    const mounted = { ...container, volumeMounts: [{ name: 'v', mountPath: '/etc/conf' }] }
    const spec = { volumes: [{ name: 'v', emptyDir: {} }], containers: [mounted] }
    await run('create -f -', { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'mounted' }, spec })
    const messages = () => run('get events --field-selector reason=NotMounted -o jsonpath={.items[*].message}')
    await until(async () => (await messages()).includes('container c finds at /etc/conf what this machine has there'))
    await run('delete pod mounted --wait')
  })

  it('names the alternative to exec, attach, port-forward and debug', async () => {
    await run('create -f -', workload('Deployment', 'there'))
    await run('rollout status deployment/there --timeout=30s')
    const [pod] = await podsOf('there')
    const name = pod?.metadata.name
    for (const command of [`exec ${name} -- ls`, `attach ${name}`])
      expect((await kubectl(command)).errors).toContain(`c is process ${pidOf(pod!)}`)
    expect((await kubectl(`port-forward ${name} 8080:8080`)).errors).toContain('sojourn.dev/ports')
    expect((await kubectl(`debug ${name} --image=busybox`)).errors).toContain('ephemeralcontainers is not served')
    await run('delete deployment/there --wait --cascade=foreground')
    await run('run thought --image=none')
    await run('wait pod/thought --for=condition=Ready --timeout=30s')
    expect((await kubectl('exec thought -- ls')).errors).toContain('no process of thought runs')
    await run('delete pod thought --now')
  })

  it('leaves no process running twice after the server is killed, even detached ones', async () => {
    // The group leader has exited, and its child runs in its own session.
    const hiding = `setsid sleep 987654 & setsid sleep 987654 & exec sleep 987654`
    const container = { name: 'c', image: 'none', command: ['sh', '-c', hiding] }
    await run('create -f -', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'hides', labels: { app: 'hides' } },
      spec: { containers: [container] },
    })
    await until(async () => (await podsOf('hides')).every(isReady) && (await sleepers()).length === 3)
    const before = await sleepers()
    await server.stop('SIGKILL')
    expect(before.every(isAlive)).toBe(true)
    server = await start()
    await until(async () => (await sleepers()).length === 3)
    const after = await sleepers()
    expect(after.filter((pid) => before.includes(pid))).toEqual([])
    await run('delete pod hides --grace-period=1 --wait')
    await until(async () => (await sleepers()).length === 0)
  })
})

/** The detached processes of the Pod. */
function sleepers(): Promise<readonly number[]> {
  return new Promise((resolve) =>
    execFile('pgrep', ['-f', '^sleep 987654$'], (_error, out) => resolve(out.split('\n').filter(Boolean).map(Number))),
  )
}
