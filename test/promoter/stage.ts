import type { ForgeType, PipelineSpec } from '../../src/apis/pipeline.ts'
import { ResponseCache } from '../../src/forges/forge-api.ts'
import { performEffect, type EffectPorts } from '../../src/systems/promoter/effects/perform.ts'
import { RateLimiter } from '../../src/forges/rate-limiter.ts'
import type { Effect } from '../../src/systems/promoter/decision/effects.ts'
import { environments, pipelineOf, World } from './world.ts'
import type { Http } from '../../src/runtime/http/http.ts'
import type { EffectResult } from '../../src/systems/promoter/decision/results.ts'
import { type ForgeServer, forgePassword, forgeToken, forgeUser } from '../forge/forge-server.ts'
import type { Repository } from '../forge/repository.ts'
import { localNetwork } from '../local-network.ts'

/** The process was killed at this point: nothing it knew is left. */
export class Killed extends Error {}

/** A pipeline whose decisions are carried out for real, against a forge with real repositories. */
export class Stage {
  readonly forge: ForgeServer
  readonly repository: Repository
  readonly world: World
  readonly events: unknown[] = []
  /** Requests over SSH, and how they ended. */
  readonly sshRequests: string[] = []
  secret: Record<string, string>
  /** Secrets of other names than the repository's. */
  readonly secrets = new Map<string, Record<string, string> | undefined>()
  /** Kills the process at the n-th request from here on, before it is sent or after its answer has come. */
  killAt: { request: number; when: 'before' | 'after' } | undefined
  /** Requests sent since the start. */
  sent = 0
  readonly #network = localNetwork()
  readonly #responseCache = new ResponseCache()
  readonly #rateLimiter: RateLimiter

  private constructor(forge: ForgeServer, repository: Repository, world: World) {
    this.forge = forge
    this.repository = repository
    this.world = world
    this.secret = { username: forgeUser, password: forgePassword, token: forgeToken, caFile: forge.ca }
    this.#rateLimiter = new RateLimiter({ now: () => this.world.now, burst: 10_000, perSecond: 10_000 })
  }

  /** dev → prod by pull request, unless told otherwise. The repository holds one marked value per later environment. */
  static async build(given: {
    forge: ForgeServer
    type?: ForgeType
    repository: string
    spec?: Partial<PipelineSpec>
    names?: string[]
  }): Promise<Stage> {
    const { forge, type = 'github', spec = {}, names = ['dev', 'prod'] } = given
    const repository = await forge.createRepository(given.repository)
    await repository.commit(
      'main',
      Object.fromEntries(names.slice(1).map((name) => [`${name}/app.yaml`, manifest(name, '1.0.0')])),
    )
    const strategy = {
      'pull-request': { type, url: forge.url(type, given.repository), baseBranch: 'main', secretRef: { name: 'git' } },
    }
    const world = new World(pipelineOf({ environments: environments(...names), promotion: { strategy }, ...spec }))
    world.runs(Object.fromEntries(names.map((name) => [name, '1.0.0'])))
    world.step()
    return new Stage(forge, repository, world)
  }

  close(): void {
    this.#network.close()
  }

  get ports(): EffectPorts {
    return {
      http: this.#http,
      connect: this.#network.connect,
      rateLimiter: this.#rateLimiter,
      countRequest: ({ host, method, code }) => void this.sshRequests.push(`${host} ${method} ${code}`),
      responseCache: this.#responseCache,
      readSecret: ({ name }) => {
        if (this.secrets.has(name)) return Promise.resolve(this.secrets.get(name))
        return Promise.resolve(Object.keys(this.secret).length > 0 ? this.secret : undefined)
      },
      createEvent: (event) => Promise.resolve(void this.events.push(event)),
      now: () => this.world.now,
      jobProblem: () => Promise.resolve('there are no Jobs here'),
      valueOf: (_expression, revision) => revision.split(':').at(-1) ?? revision,
    }
  }

  /** One reconcile and its effect, if one is due. Forgets everything when it is killed on the way. */
  async turn(afterMs = 0): Promise<Effect | undefined> {
    const { world } = this
    const { effect } = world.step(afterMs)
    if (!effect) return undefined
    const result = await this.perform(effect)
    if (!result) return effect
    if (effect.do === 'poll') world.polledAt.set(effect.promotion.id, world.now)
    world.record(effect, result)
    return effect
  }

  /** The effect's result; undefined when the process was killed before it could be recorded. */
  async perform(effect: Effect): Promise<EffectResult | undefined> {
    let killed = false
    const http: Http = async (request) => {
      if (killed) throw new Killed()
      const at = this.killAt && this.sent++ === this.killAt.request ? this.killAt.when : undefined
      if (!this.killAt) this.sent++
      if (at === 'before') killed = true
      if (killed) throw new Killed()
      const response = await this.#http(request)
      if (at === 'after') killed = true
      if (killed) throw new Killed()
      return response
    }
    const ports = { ...this.ports, http }
    const result = await performEffect(effect, this.world.pipeline, { ports, signal: new AbortController().signal })
    if (!killed) return result
    this.killAt = undefined
    this.world.polledAt.clear()
    return undefined
  }

  /** Turns until nothing happens any more but looks at pull requests. */
  async settle(turns = 20, everyMs = 60_000): Promise<void> {
    let quiet = 0
    for (let turn = 0; turn < turns && quiet < 2; turn++) {
      const before = JSON.stringify(this.world.status.environments)
      const effect = await this.turn(everyMs)
      const isQuiet = !effect || (effect.do === 'poll' && before === JSON.stringify(this.world.status.environments))
      quiet = isQuiet ? quiet + 1 : 0
    }
  }

  /** What a deployer would do: every environment runs what the base branch says. */
  async deploy(): Promise<void> {
    for (const { name } of this.world.pipeline.spec.environments.slice(1)) {
      const [, version = ''] =
        /version: "?([^"\s]+)"?/.exec(await this.repository.file('main', `${name}/app.yaml`)) ?? []
      this.world.runs({ [name]: version })
    }
  }

  get pulls() {
    return this.forge.pulls.all.filter(({ repository }) => repository === this.name)
  }

  get name(): string {
    return /([^/]+)\.git$/.exec(this.repository.path)?.[1] ?? ''
  }

  async mergeOpen(): Promise<void> {
    for (const pull of this.pulls) if (pull.state === 'open') await this.forge.pulls.merge(pull)
  }

  #http: Http = (request) => this.#network.http(request)
}

/** A manifest with one marked value. */
export function manifest(environment: string, version: string): string {
  return `kind: HelmRelease\nspec:\n  chart:\n    version: ${version} # {"$promotion": "team:app:${environment}"}\n`
}
