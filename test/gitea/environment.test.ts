import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { startReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { allKinds } from '../../src/apis/all-kinds.ts'
import type { EnvironmentStatus } from '../../src/apis/environment.ts'
import { runCommand } from '../command.ts'
import { attempt, run, whenEstablished } from '../kubernetes/kubectl.ts'
import { Gate, type Passing } from './gate.ts'
import { giteaProgram } from './gitea-build.ts'
import { GiteaServer } from './gitea-server.ts'
import { MortalSojourn } from './mortal-sojourn.ts'

const missing = existsSync(giteaProgram)
  ? await whyUnavailable('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl')
  : 'there is no Gitea'
if (missing) console.warn(`*** SKIPPED: the life of an environment with a pull request on a real Gitea: ${missing}`)

interface Place {
  readonly kubeconfig: string
  readonly sojourn: MortalSojourn
  /** Where each write of the process can be its last one; none where the API server is that process. */
  readonly api?: Gate
}

/** What must be undone in the end, the last first. */
let stack: AsyncDisposableStack

async function up(): Promise<Place> {
  const data = mkdtempSync(join(tmpdir(), 'environment-life-'))
  stack.defer(() => rmSync(data, { recursive: true, force: true }))
  const [port = 0, proxy = 0] = await freePorts(2)
  const args = ['up', `--data=${data}`, `--port=${port}`, `--proxy-port=${proxy}`]
  const sojourn = stack.use(new MortalSojourn(() => args))
  await sojourn.start()
  return { kubeconfig: join(data, 'kubeconfig'), sojourn }
}

async function cluster(): Promise<Place> {
  const controllers = ['namespace-controller', 'deployment-controller', 'replicaset-controller']
  const real = stack.use(await startReferenceCluster({ durable: false, controllerManager: { controllers } }))
  const { kubeconfig, token } = real
  const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sojourn-system' } }
  const input = { apiVersion: 'v1', kind: 'List', items: [...allKinds.map(({ crd }) => crd), home] }
  await run('kubectl', ['apply', '--server-side', '-f', '-'], { kubeconfig, input })
  await whenEstablished(real)
  const own = join(mkdtempSync(join(tmpdir(), 'environment-life-')), 'kubeconfig')
  stack.defer(() => rmSync(join(own, '..'), { recursive: true, force: true }))
  const args = ['run', `--kubeconfig=${own}`, '--only=environments', '--port=0', '--allow-outgoing=127.0.0.1/32']
  // The Lease of a killed process ends after fifteen seconds; that is not what is tried here.
  const release = () => run('kubectl', ['delete', 'lease', '-n', 'sojourn-system', '--all'], { kubeconfig })
  const sojourn = stack.use(
    new MortalSojourn(
      () => args,
      () => release().then(() => {}),
    ),
  )
  const api = stack.use(await Gate.open(real.url, { stepOf: apiStep, kill: sojourn.kill }))
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      { name: 'c', cluster: { server: api.url, 'certificate-authority-data': Buffer.from(api.ca).toString('base64') } },
    ],
    users: [{ name: 'u', user: { token } }],
  }
  writeFileSync(own, JSON.stringify(config), { mode: 0o600 })
  await sojourn.start()
  return { kubeconfig, sojourn, api }
}

/** Writes that take an environment a step further, each by what it says. */
function apiStep({ method, path, body }: Passing): string | undefined {
  if (method === 'GET' || !/environments\/|departures|namespaces\/shop-pr-1$|environments$/.test(path)) return undefined
  const { pathname } = new URL(path, 'https://api')
  if (!pathname.endsWith('/status')) return `${method} ${pathname.replace(/(departures\/).*/, '$1…')}`
  const { status = {} } = JSON.parse(body) as { status?: EnvironmentStatus }
  const { phase, deletion, pullRequest, announcement } = status
  const facts = [phase, deletion?.step, pullRequest?.state, pullRequest?.commentId, announcement && 'announced']
  return `status ${facts.filter(Boolean).join(' ')}${announcement?.toldAt ? ' told' : ''}`
}

const forgeStep = ({ method, path }: Passing) =>
  method === 'GET' ? undefined : `${method} ${path.replace(/\/statuses\/.*/, '/statuses')}`

// Pull requests are read once a minute.
const until = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 900_000, interval: 500 })

let gitea: GiteaServer
beforeAll(async () => {
  if (missing) return
  gitea = await GiteaServer.start()
  // Counts for connections from now on only: one Gitea serves all.
  setDefaultCACertificates([...getCACertificates(), gitea.ca])
})
afterAll(() => gitea?.stop())

describe.skipIf(missing).each([
  ['sojourn up', 'shop-up', up],
  ['kube-apiserver', 'shop-cluster', cluster],
])('an environment on %s whose pull request is on a real Gitea', { timeout: 2_400_000 }, (_, repository, start) => {
  let place: Place
  let forge: Gate
  let pull: number
  const kubectl = (...words: string[]) => run('kubectl', words, place)
  const apply = (input: unknown) =>
    until(async () => void (await run('kubectl', ['apply', '-f', '-'], { ...place, input: input as object })))
  const status = async (): Promise<EnvironmentStatus> => {
    const said = await attempt('kubectl', ['get', 'env', '-n', 'shop-pr-1', 'shop-pr-1', '-o', 'json'], place)
    return said.code === 0 ? ((JSON.parse(said.stdout) as { status?: EnvironmentStatus }).status ?? {}) : {}
  }
  const comments = async () => {
    const { data } = await gitea.human.api.repos.issueGetComments('human', repository, pull)
    return data.map(({ body = '' }) => body)
  }
  const commitStatus = async () => {
    const [found] = await gitea.pulls(repository)
    const { data } = await gitea.human.api.repos.repoGetCombinedStatusByRef('human', repository, found?.head?.sha ?? '')
    return data.statuses?.find(({ context }) => context === 'sojourn/shop-pr-1')
  }

  beforeAll(async () => {
    stack = new AsyncDisposableStack()
    await gitea.repository(repository, { 'a.yaml': 'a: 1\n' })
    const { repos } = gitea.human.api
    const content = Buffer.from('b: 1\n').toString('base64')
    await repos.repoCreateFile('human', repository, 'b.yaml', { content, message: 'Change', new_branch: 'change' })
    const { data } = await repos.repoCreatePullRequest('human', repository, {
      head: 'change',
      base: 'main',
      title: 'Change',
    })
    pull = data.number ?? 0
    place = await start()
    forge = stack.use(await Gate.open(gitea.url, { stepOf: forgeStep, kill: place.sojourn.kill }))
  }, 900_000)
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.warn(place?.sojourn.output, place?.api?.kills, forge?.kills)
  })
  afterAll(() => stack?.disposeAsync())

  it('lives its whole life though the process is killed at every step: one comment, nothing early, all of it back', async () => {
    const { host } = new URL(forge.url)
    await apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'forge', namespace: 'sojourn-system' },
      stringData: { token: gitea.robot.token, caFile: forge.ca },
    })
    await apply({
      apiVersion: 'sojourn.dev/v1alpha1',
      kind: 'EnvironmentClass',
      metadata: { name: 'preview' },
      spec: {
        namespaceSelector: { matchLabels: { env: 'preview' } },
        delete: { after: '7d', maxAge: '60d' },
        pullRequest: {
          graceAfterClose: '20s',
          forges: [{ host, type: 'gitea', secretRef: { name: 'forge' }, repositories: ['human/*'] }],
        },
        owner: { default: 'platform@example.org' },
      },
    })
    await apply({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: {
        name: 'shop-pr-1',
        labels: { env: 'preview' },
        annotations: { 'sojourn.dev/pull-request': `${forge.url}/human/${repository}/pulls/${pull}` },
      },
    })
    const labels = { app: 'shop' }
    await apply({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'shop', namespace: 'shop-pr-1' },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop' }] } },
      },
    })
    await until(async () => expect((await status()).pullRequest).toMatchObject({ state: 'open' }))
    place.sojourn.kill()
    await until(async () => expect(await comments()).toHaveLength(1))
    expect((await comments())[0]).toContain('**Environment shop-pr-1** is awake')
    await until(async () => expect((await status()).pullRequest?.statusDigest).toBeDefined())
    expect(await commitStatus()).toMatchObject({ status: 'success', description: 'environment ready' })
    place.sojourn.kill()

    await until(async () =>
      expect((await runCommand(place.kubeconfig, 'keep', 'shop-pr-1', '--for', '1d')).out).toContain('stays until'),
    )
    await kubectl('patch', 'env', '-n', 'shop-pr-1', 'shop-pr-1', '--type=merge', '-p', '{"spec":{"keepUntil":null}}')

    await gitea.human.api.repos.repoEditPullRequest('human', repository, pull, { state: 'closed' })
    let date = Infinity
    let goneAt = 0
    await until(async () => {
      const found = await attempt('kubectl', ['get', 'ns', 'shop-pr-1', '-o', 'json'], place)
      const { announcement, deletion } = await status()
      const announced = Date.parse(announcement?.date ?? '')
      if (announced) {
        if (date === Infinity) place.sojourn.kill()
        date = announced
      }
      const isLeaving = found.code === 0 && found.stdout.includes('"deletionTimestamp"')
      if (deletion || isLeaving || found.stderr.includes('NotFound')) goneAt ||= Date.now()
      expect(found.stderr).toContain('NotFound')
    })
    expect(goneAt).toBeGreaterThanOrEqual(date)
    const [comment = '', ...others] = await comments()
    expect(others).toEqual([])
    expect(comment).toContain('is being deleted: its pull request is closed')

    const [, record = ''] = /sojourn restore (\S+?)`/.exec(comment) ?? []
    await until(async () => expect(await runCommand(place.kubeconfig, 'restore', record)).toMatchObject({ code: 0 }))
    await gitea.human.api.repos.repoEditPullRequest('human', repository, pull, { state: 'open' })
    await until(async () => expect((await status()).pullRequest?.state).toBe('open'))
    await until(async () =>
      expect(await status()).toMatchObject({ phase: 'Asleep', workloads: { awake: 0, asleep: 1 } }),
    )
    await until(async () => expect((await comments())[0]).toContain('is asleep, the first request wakes it'))
    expect(await comments()).toHaveLength(1)
    expect(forge.passed.filter(({ method, path }) => method === 'POST' && path.endsWith('/comments'))).toHaveLength(1)
    await until(async () => expect(await commitStatus()).toMatchObject({ description: 'asleep, wakes on request' }))

    const kills = [...(place.api?.kills ?? []), ...forge.kills]
    console.info(`killed ${place.sojourn.starts - 1} times, among them:\n  ${kills.join('\n  ')}`)
    expect(forge.kills).toContainEqual(expect.stringMatching(/^after POST .*\/comments$/))
    if (place.api)
      for (const step of ['Record', 'Tool', 'Helm', 'Namespace'])
        for (const when of ['before', 'after'])
          expect(place.api.kills).toContainEqual(
            expect.stringMatching(new RegExp(`^${when} status .*Deleting ${step}`)),
          )
  })
})
