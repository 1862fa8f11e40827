import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Daemon } from '../../scripts/reference-cluster/daemon.ts'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import type { EnvironmentSpec, Pipeline, PromotionSpec } from '../../src/apis/pipeline.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import type { Http } from '../../src/runtime/http/http.ts'
import type { CommitCheck } from '../../src/forges/forge.ts'
import { verify, type CheckPorts } from '../../src/systems/promoter/strategies/verify.ts'
import { ForgeServer, forgeToken } from '../forge/forge-server.ts'
import { localNetwork } from '../local-network.ts'
import { TestCluster, TestPromoter } from './cluster.ts'
import { Stage } from './stage.ts'
import { environments, pipelineOf } from './world.ts'

type Checks = NonNullable<EnvironmentSpec['verification']>['checks']

const { http, close } = localNetwork()
afterAll(close)

function check(checks: Checks, ports: Partial<CheckPorts> = {}) {
  const unused = () => Promise.reject(new Error('not asked for'))
  return verify(
    { checks, intervalMs: 30_000, deadlineMs: 600_000 },
    {
      http,
      now: () => 0,
      signal: new AbortController().signal,
      readSecret: unused,
      jobProblem: unused,
      checksOf: unused,
      ...ports,
    },
  )
}

const prometheus = '/usr/bin/prometheus'
if (!existsSync(prometheus)) console.warn(`\n*** Checks by a real Prometheus are SKIPPED: there is no ${prometheus}\n`)

describe.skipIf(!existsSync(prometheus))('a query of a real Prometheus', () => {
  let server: Daemon
  let url: string
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-prometheus-'))

  beforeAll(async () => {
    const [port] = await freePorts(1)
    url = `http://127.0.0.1:${port}`
    const config = join(directory, 'prometheus.yml')
    const self = { job_name: 'self', static_configs: [{ targets: [`127.0.0.1:${port}`] }] }
    writeFileSync(config, JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: [self] }))
    const flags = [
      `--config.file=${config}`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    server = new Daemon(prometheus, flags, join(directory, 'log'))
    const isScraped = async () =>
      (await check([{ prometheus: { url, query: 'up{job="self"} == 1' } }]).catch(() => undefined))?.result ===
      'verified'
    await server.ready(isScraped)
  })
  afterAll(async () => {
    await server.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it.each([
    ['passes while it returns a sample, though its value is 0', 'vector(0) < 1', 'verified'],
    [
      'passes over what Prometheus has scraped',
      'sum(rate(prometheus_http_requests_total{code=~"5.."}[1m])) < 1 or up == 1',
      'verified',
    ],
    ['has not passed while it returns none', 'vector(2) < 1', 'unverified'],
    ['has not passed without data', 'no_such_metric < 1', 'unverified'],
    ['has not passed when it is wrong', 'rate( < 1', 'unverified'],
  ])('%s', async (_, query, result) => {
    expect((await check([{ prometheus: { url, query } }])).result).toBe(result)
  })

  it('has not passed while Prometheus cannot be reached', async () => {
    const [unused] = await freePorts(1)
    const seen = await check([{ prometheus: { url: `http://127.0.0.1:${unused}`, query: 'vector(1) > 0' } }])
    expect(seen).toMatchObject({ result: 'unverified', message: expect.stringContaining('ECONNREFUSED') })
  })
})

describe('a query', () => {
  it('is sent with the token of its Secret, and not at all without the Secret', async () => {
    const asked: string[] = []
    const answer: Http = ({ headers }) => {
      asked.push(headers?.['authorization'] ?? 'none')
      const body = Buffer.from(JSON.stringify({ data: { resultType: 'vector', result: [{}] } }))
      return Promise.resolve({ status: 200, headers: {}, body })
    }
    const checks = [{ prometheus: { url: 'https://p.test', query: 'a > 1', secretRef: { name: 's' } } }]
    const withSecret = await check(checks, { http: answer, readSecret: () => Promise.resolve({ token: 't' }) })
    expect(withSecret.result).toBe('verified')
    const without = await check(checks, { http: answer, readSecret: () => Promise.resolve(undefined) })
    expect(without.result).toBe('unverified')
    expect(asked).toEqual(['Bearer t'])
  })
})

describe('commit statuses', () => {
  it.each<[string, string[] | undefined, CommitCheck[], string]>([
    [
      'all succeeded',
      undefined,
      [
        { name: 'a', state: 'success' },
        { name: 'b', state: 'success' },
      ],
      'verified',
    ],
    [
      'one is pending',
      undefined,
      [
        { name: 'a', state: 'success' },
        { name: 'b', state: 'pending' },
      ],
      'unverified',
    ],
    ['there are none', undefined, [], 'unverified'],
    [
      'the named one succeeded',
      ['a'],
      [
        { name: 'a', state: 'success' },
        { name: 'b', state: 'failure' },
      ],
      'verified',
    ],
    ['the named one is missing', ['c'], [{ name: 'a', state: 'success' }], 'unverified'],
    [
      'one of two of the same name failed',
      ['a'],
      [
        { name: 'a', state: 'success' },
        { name: 'a', state: 'failure' },
      ],
      'unverified',
    ],
  ])('%s', async (_, names, found, result) => {
    const ports = { checksOf: () => Promise.resolve(found) }
    expect((await check([{ commitStatuses: names ? { names } : {} }], ports)).result).toBe(result)
  })

  it('that cannot be read have not passed', async () => {
    const seen = await check([{ commitStatuses: {} }], { checksOf: () => Promise.reject(new Error('502')) })
    expect(seen).toMatchObject({ result: 'unverified', message: 'commit statuses: 502' })
  })
})

describe('commit statuses of a real forge', () => {
  let forge: ForgeServer
  beforeAll(async () => void (forge = await ForgeServer.start()))
  afterAll(() => forge.close())

  async function promote(name: string, strategy: (url: string) => PromotionSpec['strategy']) {
    const shop = await forge.createRepository(`${name}-shop`)
    // Its own content: the forge knows statuses by commit, and equal commits of one second are the same.
    const commit = await shop.commit('main', { 'main.ts': name })
    const [dev, prod] = environments('dev', 'prod')
    const repository = {
      type: 'gitea' as const,
      url: forge.url('gitea', `${name}-shop`),
      secretRef: { name: 'shop' },
    }
    const verification = { checks: [{ commitStatuses: { names: ['build'], repository } }] }
    const spec = {
      environments: [dev!, { ...prod!, verification }],
      promotion: { strategy: strategy(forge.url('github', name)) },
    }
    const stage = await Stage.build({ forge, repository: name, spec })
    stage.secrets.set('shop', { token: forgeToken, caFile: forge.ca })
    stage.world.runs({ dev: `main@sha1:${commit}` })
    await stage.settle(5)
    return { stage, commit }
  }

  it('are asked of the repository that the revision comes from, with its own Secret', async () => {
    const { stage, commit } = await promote('far', (url) => ({
      'pull-request': { type: 'github', url, baseBranch: 'main', secretRef: { name: 'git' } },
    }))
    expect(stage.world.promotion('prod')?.verification).toMatchObject({
      state: 'Failing',
      message: `commit statuses in ${forge.url('gitea', 'far-shop')}: build missing`,
    })
    expect(forge.count('GET', /\/far-shop\/commits\/.*status/)).toBeGreaterThan(0)
    expect(forge.count('GET', /\/far\/commits\/.*(status|check)/)).toBe(0)
    forge.pulls.checks.set(commit, [{ name: 'build', state: 'success' }])
    await stage.settle(3)
    expect(stage.pulls).toMatchObject([{ state: 'open' }])
    stage.close()
  })

  it('hold a promotion whose strategy has no repository at all, and one whose Secret is missing', async () => {
    const { stage, commit } = await promote('none', () => ({ notification: {} }))
    forge.pulls.checks.set(commit, [{ name: 'build', state: 'success' }])
    stage.secrets.set('shop', undefined)
    await stage.settle(3)
    const { message } = stage.world.promotion('prod')!.verification!
    expect(message).toBe(`commit statuses in ${forge.url('gitea', 'none-shop')}: Secret team/shop was not found`)
    stage.secrets.set('shop', { token: forgeToken, caFile: forge.ca })
    await stage.settle(3)
    expect(stage.events).toHaveLength(1)
    stage.close()
  })
})

describe('a Job', () => {
  const batch = (kind: string, plural: string): ResourceType => ({
    group: 'batch',
    version: 'v1',
    kind,
    plural,
    namespaced: true,
  })
  const [jobs, cronJobs] = [batch('Job', 'jobs'), batch('CronJob', 'cronjobs')]
  let home: TestCluster
  let test: TestPromoter
  beforeEach(async () => {
    home = await TestCluster.start()
  })
  afterEach(async () => {
    await test.stop()
    await home.close()
  })

  const promotionOf = ({ status }: Pipeline) => status?.environments?.['prod']?.promotion
  const containers = [{ name: 'smoke', image: 'smoke', command: ['true'] }]

  async function promote(): Promise<void> {
    await home.release('dev', '1.1.0')
    await home.release('prod', '1.0.0')
    await home.namespace('team')
    await home.client.create(cronJobs, {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { namespace: 'team', name: 'smoke' },
      spec: {
        schedule: '0 0 1 1 *',
        suspend: true,
        jobTemplate: {
          spec: { ttlSecondsAfterFinished: 0, template: { spec: { restartPolicy: 'Never', containers } } },
        },
      },
    } as KubeObject)
    const [dev, prod] = environments('dev', 'prod')
    const verification = { checks: [{ job: { fromCronJob: 'smoke' } }], interval: '1s' }
    await test.pipeline(
      'app',
      pipelineOf({ environments: [dev!, { ...prod!, verification }], promotion: { strategy: { notification: {} } } })
        .spec,
    )
  }

  it('made from a CronJob must succeed before a promotion starts, and knows the revision', async () => {
    test = new TestPromoter(home)
    await promote()
    const waiting = await test.until('app', (found) =>
      promotionOf(found)?.verification?.message?.includes('has not finished'),
    )
    const name = `smoke-${promotionOf(waiting)!.id.slice(0, 8)}`
    const job = await home.client.get<StoredObject>(jobs, { namespace: 'team', name })
    expect(job.metadata.ownerReferences).toMatchObject([{ kind: 'Pipeline', name: 'app' }])
    expect(JSON.stringify(job.spec)).toContain('{"name":"SOJOURN_REVISION","value":"1.1.0"}')
    // Deleted at once, it would be created again at each look.
    expect(job.spec).toMatchObject({ ttlSecondsAfterFinished: 86_400 })
    const condition = { type: 'Complete', status: 'True' }
    await home.client.patch(
      jobs,
      { namespace: 'team', name },
      { type: 'merge', body: { status: { conditions: [condition] } } },
      { subresource: 'status' },
    )
    await test.until('app', (found) => promotionOf(found)?.phase === 'RollingOut')
  })

  it('is not created for a Pipeline whose creator may not create Jobs', async () => {
    const refusal = { reason: 'CreatorForbidden' as const, message: 'ann may not create jobs' }
    test = new TestPromoter(
      home,
      {},
      {
        actAs: {
          for: () => ({
            client: home.client,
            refusalOf: ({ resource }) => Promise.resolve(resource === 'jobs' ? refusal : undefined),
          }),
        },
      },
    )
    await promote()
    await test.until('app', (found) => promotionOf(found)?.verification?.message === 'ann may not create jobs')
    const { items } = (await home.client.list(jobs, { namespace: 'team' }).catch(ignoring('NotFound'))) ?? { items: [] }
    expect(items).toEqual([])
  })
})
