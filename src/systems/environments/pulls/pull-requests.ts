import { createHash } from 'node:crypto'
import type { ForgeType } from '../../../apis/pipeline.ts'
import type { Client } from '../../../client/client.ts'
import { newResponseCache, type ResponseCache } from '../../../forges/forge-api.ts'
import type { Forge, PullRequest } from '../../../forges/forge.ts'
import { openForge } from '../../../forges/open-forge.ts'
import { RateLimiter } from '../../../forges/rate-limiter.ts'
import { repositoryAddress } from '../../../forges/repository-address.ts'
import { permanent } from '../../../git/promotion-error.ts'
import { secrets } from '../../../kube/core-types.ts'
import type { Key } from '../../../kube/key.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { Controller, type ControllerPorts } from '../../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { PullAccess } from './pull-address.ts'

/** A pull request as it was last read, or why it could not be. */
export type Seen = { readonly pull: PullRequest; readonly at: number } | Unread

interface Unread {
  readonly problem: string
  readonly at: number
}

export interface PullPorts {
  readonly client: Client
  readonly ports: ControllerPorts
  /** Reaches the hosts that tenants name, and those that administrators do. */
  readonly http: Readonly<Record<PullAccess['by'], Http>>
  /** Called when something about a pull request changed. */
  readonly onChange: (environment: Key) => void
}

/** Requests per second and credential: a share of what the forge allows. */
const budgets: Readonly<Record<ForgeType, number>> = {
  github: 1000 / 3600,
  gitlab: 5,
  gitea: 1,
  forgejo: 1,
  'bitbucket-cloud': 300 / 3600,
  'bitbucket-server': 1,
  'azure-devops': 1,
}

const pollMs = 60_000
/** More pull requests of one repository are read by one list. */
const maxSingleReads = 3

/** Reads pull requests: one poll per repository and credential, however many environments there are. */
export class PullRequests {
  readonly controller: Controller
  readonly #ports: PullPorts
  readonly #groups = new Map<string, Map<string, PullAccess>>()
  readonly #seen = new Map<string, Seen>()
  readonly #limiters = new Map<ForgeType, RateLimiter>()
  readonly #caches = new Map<string, ResponseCache>()

  constructor(ports: PullPorts) {
    this.#ports = ports
    this.controller = new Controller({
      name: 'environment-pull-requests',
      reconcile: ({ name }) => this.#poll(name),
      ports: ports.ports,
    })
  }

  /** What is known of an environment's pull request; it is polled from now on. */
  follow(environment: Key, access: PullAccess): Seen | undefined {
    const group = groupOf(access)
    const members = this.#groups.get(group) ?? new Map<string, PullAccess>()
    const isNew = !members.has(environment.namespace)
    members.set(environment.namespace, access)
    this.#groups.set(group, members)
    if (isNew) this.controller.enqueue(pollKey(group))
    return this.#seen.get(idOf(access))
  }

  forget({ namespace }: Pick<Key, 'namespace'>): void {
    for (const [group, members] of this.#groups)
      if (members.delete(namespace) && members.size === 0) this.#groups.delete(group)
  }

  /** Reads it now, for a decision that cannot be taken back. */
  async fresh(access: PullAccess): Promise<Seen> {
    const seen = await this.#read(access)
    this.#seen.set(idOf(access), seen)
    return seen
  }

  /** The API of a pull request's forge, within its budget. */
  async forge({ address, secret, by }: PullAccess): Promise<Forge> {
    const { client, http, ports } = this.#ports
    const found = await client.get(secrets, secret).catch(ignoring('NotFound'))
    const data = (found?.data ?? {}) as Readonly<Record<string, string>>
    const field = (name: string) => data[name] && Buffer.from(data[name], 'base64').toString('utf8').trim()
    const token = field('token') ?? field('password')
    if (!token) throw permanent('CredentialsMissing', `Secret ${secret.namespace}/${secret.name} has no token`)
    const limiter =
      this.#limiters.get(address.type) ??
      new RateLimiter({ now: () => ports.clock.now(), perSecond: budgets[address.type] })
    this.#limiters.set(address.type, limiter)
    const credential = createHash('sha256').update(token).digest('hex').slice(0, 16)
    const cache = this.#caches.get(`${address.host} ${credential}`) ?? newResponseCache()
    this.#caches.set(`${address.host} ${credential}`, cache)
    return openForge(address.type, repositoryAddress(address.type, address.repositoryUrl), {
      http: limiter.wrap(http[by], credential),
      token,
      ca: field('caFile') ?? field('ca.crt'),
      cache,
    })
  }

  async #poll(group: string): Promise<Outcome> {
    const members = this.#groups.get(group)
    const [first] = members?.values() ?? []
    if (!members || !first) return settled
    const { clock } = this.#ports.ports
    const open = members.size > maxSingleReads ? await this.#readOpen(first) : undefined
    for (const [namespace, access] of members) {
      const listed = open && 'pulls' in open ? open.pulls.get(access.address.number) : undefined
      // A pull request that is missing from the list of open ones is closed only if it says so itself.
      const now =
        open && 'problem' in open ? open : listed ? { pull: listed, at: clock.now() } : await this.#read(access)
      const before = this.#seen.get(idOf(access))
      this.#seen.set(idOf(access), now)
      if (!isSame(before, now)) this.#ports.onChange({ cluster: '', kind: 'Namespace', namespace: '', name: namespace })
    }
    return wakeAt(clock.now() + pollMs)
  }

  async #readOpen(access: PullAccess): Promise<{ readonly pulls: ReadonlyMap<number, PullRequest> } | Unread> {
    const at = this.#ports.ports.clock.now()
    try {
      const pulls = await (await this.forge(access)).openPulls()
      return { pulls: new Map(pulls.map((pull) => [pull.number, pull])) }
    } catch (error) {
      return { problem: describeError(error), at }
    }
  }

  async #read(access: PullAccess): Promise<Seen> {
    const at = this.#ports.ports.clock.now()
    try {
      const pull = await (await this.forge(access)).get(access.address.number)
      const isIt = pull.number === access.address.number && ['open', 'closed', 'merged'].includes(pull.state)
      return isIt ? { pull, at } : { problem: 'the forge answered something else than the pull request', at }
    } catch (error) {
      return { problem: describeError(error), at }
    }
  }
}

function isSame(before: Seen | undefined, now: Seen): boolean {
  if (!before) return false
  if ('problem' in before) return 'problem' in now && before.problem === now.problem
  return 'pull' in now && before.pull.state === now.pull.state && before.pull.headSHA === now.pull.headSHA
}

function describeError(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 300)
}

function groupOf({ address, secret }: PullAccess): string {
  const text = `${address.type} ${address.repositoryUrl} ${secret.namespace}/${secret.name}`
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

function idOf(access: PullAccess): string {
  return `${groupOf(access)} ${access.address.number}`
}

function pollKey(name: string): Key {
  return { cluster: '', kind: 'Repository', namespace: '', name }
}
