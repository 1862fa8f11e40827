import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { approval as approvalKind } from '../../src/apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../src/apis/pipeline.ts'
import { cronJobs, jobs } from '../../src/kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { ignoring, StatusError } from '../../src/kube/status-error.ts'
import { environments, pipelineOf } from './world.ts'
import { ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import type { Repository } from '../forge/repository.ts'
import { TestCluster } from './cluster.ts'
import { manifest } from './stage.ts'

/** Where a promoter dies: at which of a pipeline's steps, and whether the step still happens. */
export interface Death {
  readonly step: number
  readonly when: 'before' | 'after'
}

/**
 * What people do beside merging: nothing, suspend and resume, close and retry, roll back at the end, and promote again after that.
 * Or a gate opens late: a URL, a PromQL query, a Job, a status of the commit.
 */
export const twists = [
  'plain',
  'gated',
  'suspended',
  'closed',
  'rolled back',
  'promoted again',
  'gated by a query',
  'gated by a Job',
  'gated by a commit status',
] as const
export type Twist = (typeof twists)[number]

/** One pipeline with a repository of its own, and the deaths it has coming. */
export interface History {
  readonly name: string
  readonly repository: Repository
  readonly deaths: Death[]
  readonly twist: Twist
  /** What its first environment has. */
  readonly revision: string
  /** Requests of users so far. */
  readonly asked: Set<string>
  /** Requests to the forge and writes to the API so far, of all processes. */
  steps: number
}

type Job = StoredObject & {
  readonly spec: { readonly template: { readonly metadata?: { readonly labels?: Record<string, string> } } }
  readonly status?: { readonly completionTime?: string }
}

const speed = 20

/** A promoter in a process of its own that is killed with SIGKILL and started again, on a server and a forge that live on. */
export class KillWorld {
  readonly forge: ForgeServer
  readonly home: TestCluster
  readonly histories = new Map<string, History>()
  kills = 0
  /** A promoter has ended without being killed. */
  crashed = false
  readonly #directory = mkdtempSync(join(tmpdir(), 'sojourn-kill-'))
  readonly #epoch = Date.now()
  readonly #looks = new Map<string, number>()
  readonly #gates = createServer(({ url = '' }, response) => {
    const looks = (this.#looks.get(url) ?? 0) + 1
    this.#looks.set(url, looks)
    const result = looks > 2 ? [{ metric: {}, value: [0, '1'] }] : []
    const isQuery = url.includes('/api/v1/query')
    response
      .writeHead(looks > 2 || isQuery ? 200 : 503)
      .end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }))
  })
  #child: ChildProcess | undefined

  private constructor(forge: ForgeServer, home: TestCluster) {
    this.forge = forge
    this.home = home
  }

  static async start(): Promise<KillWorld> {
    const forge = await ForgeServer.start()
    // Only once the world is there can anything be written to it.
    const step = (name: string, when: Death['when']): boolean => world?.step(name, when) ?? false
    const home = await TestCluster.start({
      admission: [
        {
          validate({ type, operation, name }) {
            if (type.kind !== 'Pipeline' || operation !== 'UPDATE') return
            if (step(name, 'before')) throw new StatusError('ServiceUnavailable', 'the process that asked is gone')
            step(name, 'after')
          },
        },
      ],
    })
    const world: KillWorld | undefined = new KillWorld(forge, home)
    forge.interrupt = ({ path }, when) => world.step(repositoryIn(path), when)
    const { url } = await home.server.listen({ port: 0 })
    writeFileSync(join(world.#directory, 'kubeconfig'), home.server.kubeconfig(url), { mode: 0o600 })
    await home.secret('team', 'git', {
      username: forgeUser,
      password: forgePassword,
      token: forgeToken,
      caFile: forge.ca,
    })
    await new Promise<void>((resolve) => world.#gates.listen(0, '127.0.0.1', resolve))
    world.#run()
    return world
  }

  /** A pipeline whose first environment has just got a newer revision than the last. */
  async begin(name: string, deaths: Death[], twist: Twist = 'plain'): Promise<History> {
    const repository = await this.forge.createRepository(name)
    const commit = await repository.commit('main', {
      'prod/app.yaml': manifest('prod', '1.0.0').replace('team:app:', `team:${name}:`),
    })
    const revision = twist === 'gated by a commit status' ? `main@sha1:${commit}` : '1.1.0'
    const history: History = { name, repository, deaths, twist, revision, asked: new Set(), steps: 0 }
    this.histories.set(name, history)
    const [dev, prod] = [`dev-${name}`, `prod-${name}`]
    await this.home.release(dev, revision)
    await this.home.release(prod, '1.0.0')
    const strategy = {
      'pull-request': {
        type: 'gitea' as const,
        url: this.forge.url('gitea', name),
        baseBranch: 'main',
        secretRef: { name: 'git' },
      },
    }
    const [first, second] = environments('dev', 'prod')
    const spec = pipelineOf({
      promotion: { strategy },
      environments: [
        { ...first!, targets: [{ namespace: dev }] },
        {
          ...second!,
          targets: [{ namespace: prod }],
          ...(twist.startsWith('gated')
            ? { verification: { checks: [await this.#check(name, twist)], interval: '5s' } }
            : {}),
        },
      ],
    }).spec
    await this.home.client.create(pipelineKind.type, {
      apiVersion: pipelineKind.apiVersion,
      kind: 'Pipeline',
      metadata: { namespace: 'team', name },
      spec,
    })
    return history
  }

  /** What people and deployers do: merge what is open, roll out what is merged. */
  async serve(history: History): Promise<void> {
    const { name, twist } = history
    const { status } = await this.get(history)
    if (twist === 'suspended') {
      await this.ask(history, 'Suspend')
      if (status?.suspension) await this.ask(history, 'Resume')
    }
    const promotion = status?.environments?.['prod']?.promotion
    const isAtEnd = status?.run?.phase === 'Complete'
    if (isAtEnd && (twist === 'rolled back' || twist === 'promoted again')) await this.ask(history, 'Rollback')
    const isRolledBack = promotion?.phase === 'Succeeded' && promotion.revision === '1.0.0'
    if (isRolledBack && twist === 'promoted again') await this.ask(history, 'Promote')
    if (twist === 'gated by a Job') await this.#completeJobs(name)
    if (twist === 'gated by a commit status' && promotion?.verification?.state === 'Failing')
      this.forge.pulls.checks.set(history.revision.slice('main@sha1:'.length), [{ name: 'build', state: 'success' }])
    for (const pull of this.pullsOf(name)) {
      if (pull.state !== 'open') continue
      if (twist === 'closed' && this.pullsOf(name).length === 1) {
        this.forge.pulls.close(pull)
        // At once, before the promoter can know.
        await this.ask(history, 'Retry')
        continue
      }
      await this.forge.pulls.merge(pull)
      const [, version = ''] = /version: "?([^"\s]+)/.exec(await history.repository.file('main', 'prod/app.yaml')) ?? []
      await this.home.release(`prod-${name}`, version)
    }
  }

  /** Whether all that was asked for has happened. */
  async hasArrived(history: History): Promise<boolean> {
    const { status } = await this.get(history)
    const promotion = status?.environments?.['prod']?.promotion
    if (history.twist === 'rolled back') return promotion?.phase === 'Succeeded' && promotion.revision === '1.0.0'
    if (history.twist === 'promoted again')
      return history.asked.has('Promote') && promotion?.phase === 'Succeeded' && promotion.revision === '1.1.0'
    return status?.run?.phase === 'Complete'
  }

  /** A user asks for something, once. */
  async ask(
    { name, asked }: History,
    decision: 'Suspend' | 'Resume' | 'Rollback' | 'Retry' | 'Promote',
  ): Promise<void> {
    if (asked.has(decision)) return
    asked.add(decision)
    await this.home.client.create(approvalKind.type, {
      apiVersion: approvalKind.apiVersion,
      kind: approvalKind.kind,
      metadata: { namespace: 'team', name: `${name}-${decision.toLowerCase()}` },
      spec: {
        pipeline: name,
        environment: decision === 'Suspend' || decision === 'Resume' ? '*' : 'prod',
        decision,
        ...(decision === 'Promote' ? { revision: '1.1.0' } : {}),
        approver: 'ann',
      },
    })
  }

  /** A check that has failed before it passes. */
  async #check(name: string, twist: Twist) {
    const url = `http://127.0.0.1:${(this.#gates.address() as AddressInfo).port}/${name}`
    if (twist === 'gated') return { url }
    if (twist === 'gated by a commit status') return { commitStatuses: { names: ['build'] } }
    if (twist === 'gated by a query') return { prometheus: { url, query: 'up == 1' } }
    const container = { name: 'smoke', image: 'smoke' }
    const template = {
      metadata: { labels: { history: name } },
      spec: { restartPolicy: 'Never', containers: [container] },
    }
    await this.home.client.create(cronJobs, {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { namespace: 'team', name: `smoke-${name}` },
      spec: { schedule: '0 0 1 1 *', suspend: true, jobTemplate: { spec: { template } } },
    } as KubeObject)
    return { job: { fromCronJob: `smoke-${name}` } }
  }

  /** What the Job controller would do. */
  async #completeJobs(name: string): Promise<void> {
    const { items } = await this.home.client.list<Job>(jobs, { namespace: 'team' })
    const now = new Date().toISOString().replace(/\.\d+/, '')
    const done = (type: string) => ({ type, status: 'True', lastTransitionTime: now, lastProbeTime: now })
    for (const job of items) {
      if (job.spec.template.metadata?.labels?.['history'] !== name || job.status?.completionTime) continue
      const conditions = [done('SuccessCriteriaMet'), done('Complete')]
      const status = { startTime: now, completionTime: now, succeeded: 1, conditions }
      await this.home.client
        .update(jobs, { ...job, status } as StoredObject, { subresource: 'status' })
        .catch(ignoring('Conflict'))
    }
  }

  /** The Jobs that were started for a history. */
  async jobsOf({ name }: History): Promise<number> {
    const { items } = await this.home.client.list<Job>(jobs, { namespace: 'team' })
    return items.filter(({ spec }) => spec.template.metadata?.labels?.['history'] === name).length
  }

  pullsOf(name: string) {
    return this.forge.pulls.all.filter(({ repository }) => repository === name)
  }

  get({ name }: History): Promise<Pipeline> {
    return this.home.client.get<Pipeline>(pipelineKind.type, { namespace: 'team', name })
  }

  /** Counts a step; true when the promoter has just been killed at it. */
  step(name: string, when: Death['when']): boolean {
    const history = this.histories.get(name)
    if (!history) return false
    const number = when === 'before' ? history.steps++ : history.steps - 1
    const index = history.deaths.findIndex((death) => death.step === number && death.when === when)
    if (index < 0) return false
    history.deaths.splice(index, 1)
    this.kill()
    return true
  }

  /** Ends the promoter at once, as `kill -9` does, and starts another. */
  kill(): void {
    this.kills++
    this.#child?.kill('SIGKILL')
    this.#run()
  }

  async close(): Promise<void> {
    this.#child?.kill('SIGKILL')
    this.#gates.close()
    await this.forge.close()
    await this.home.close()
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #run(): void {
    const args = [join(this.#directory, 'kubeconfig'), String(this.#epoch), String(speed)]
    this.#child = fork(join(import.meta.dirname, 'promoter-process.ts'), args, {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // Most of a short life is starting up.
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.#directory, 'compiled') },
    })
    this.#child.on('exit', (code) => void (this.crashed ||= code !== null))
  }
}

function repositoryIn(path: string): string {
  return /\/acme\/([^/]+?)(?:\.git)?(?:\/|$)/.exec(path)?.[1] ?? ''
}
