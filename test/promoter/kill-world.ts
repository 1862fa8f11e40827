import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { approval as approvalKind } from '../../src/apis/approval.ts'
import { pipeline as pipelineKind, type Pipeline } from '../../src/apis/pipeline.ts'
import { StatusError } from '../../src/kube/status-error.ts'
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

/** What people do beside merging: nothing, a gate that opens late, suspend and resume, close and retry, roll back at the end. */
export const twists = ['plain', 'gated', 'suspended', 'closed', 'rolled back'] as const
export type Twist = (typeof twists)[number]

/** One pipeline with a repository of its own, and the deaths it has coming. */
export interface History {
  readonly name: string
  readonly repository: Repository
  readonly deaths: Death[]
  readonly twist: Twist
  /** Requests of users so far. */
  readonly asked: Set<string>
  /** Requests to the forge and writes to the API so far, of all processes. */
  steps: number
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
    response.writeHead(looks > 2 ? 200 : 503).end()
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

  /** A pipeline whose first environment has just got 1.1.0. */
  async begin(name: string, deaths: Death[], twist: Twist = 'plain'): Promise<History> {
    const repository = await this.forge.createRepository(name)
    await repository.commit('main', {
      'prod/app.yaml': manifest('prod', '1.0.0').replace('team:app:', `team:${name}:`),
    })
    const history: History = { name, repository, deaths, twist, asked: new Set(), steps: 0 }
    this.histories.set(name, history)
    const [dev, prod] = [`dev-${name}`, `prod-${name}`]
    await this.home.release(dev, '1.1.0')
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
          ...(twist === 'gated' ? { verification: { checks: [{ url: this.gate(name) }], interval: '5s' } } : {}),
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
    if (twist === 'rolled back' && status?.run?.phase === 'Complete') await this.ask(history, 'Rollback')
    const promotion = status?.environments?.['prod']?.promotion
    if (twist === 'closed' && promotion?.phase === 'Rejected') await this.ask(history, 'Retry')
    for (const pull of this.pullsOf(name)) {
      if (pull.state !== 'open') continue
      if (twist === 'closed' && this.pullsOf(name).length === 1) {
        this.forge.pulls.close(pull)
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
    return status?.run?.phase === 'Complete'
  }

  /** A user asks for something, once. */
  async ask({ name, asked }: History, decision: 'Suspend' | 'Resume' | 'Rollback' | 'Retry'): Promise<void> {
    if (asked.has(decision)) return
    asked.add(decision)
    await this.home.client.create(approvalKind.type, {
      apiVersion: approvalKind.apiVersion,
      kind: approvalKind.kind,
      metadata: { namespace: 'team', name: `${name}-${decision.toLowerCase()}` },
      spec: {
        pipeline: name,
        environment: decision === 'Rollback' || decision === 'Retry' ? 'prod' : '*',
        decision,
        approver: 'ann',
      },
    })
  }

  /** The URL of a check that fails twice before it passes. */
  gate(name: string): string {
    return `http://127.0.0.1:${(this.#gates.address() as AddressInfo).port}/${name}`
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
