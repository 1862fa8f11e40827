import { shortDigest } from '../../kube/basics/short-digest.ts'
import type { Environment, EnvironmentStatus } from '../../apis/environment.ts'
import { upsertComment, type Forge } from '../../forges/forge.ts'
import { accessTo, forgeOpener, type ForgesPorts } from '../../forges/pull-access.ts'
import { PullRequests, type PullAccess, type PullPorts, type Seen } from '../../forges/pull-requests.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { ActsFor } from '../../tenancy/act-as.ts'
import type { Surroundings } from './decision/assess.ts'
import { commentText } from './decision/describe.ts'
import { pullRequestAnnotation, pullRequestOf, type Observed, type Problem } from './decision/facts.ts'

interface EnvironmentPullsOptions extends Omit<PullPorts, 'open'>, Pick<ForgesPorts, 'readSecret' | 'http'> {
  readonly actAs: ActsFor
  /** The link that keeps an announced environment. */
  readonly keepLink: (self: Environment) => Promise<string | undefined>
  /** Pull requests stay as they were last read, for a forecast. */
  readonly assumesPulls: boolean
  readonly clusterUid: () => string | undefined
  readonly write: (self: Environment, status: EnvironmentStatus) => Promise<Environment>
}

const commentPauseMs = 300_000

/** The pull requests of environments: by whose credential each is reached, what it says, and what is written to it. */
export class EnvironmentPulls {
  readonly requests: PullRequests
  readonly #open: (access: PullAccess) => Promise<Forge>
  readonly #options: EnvironmentPullsOptions
  /** The comments that this process has written or followed, by Namespace: an environment that is gone has no status. */
  readonly #comments = new Map<string, { readonly access: PullAccess; readonly id: string; readonly marker: string }>()

  constructor(options: EnvironmentPullsOptions) {
    this.#options = options
    this.#open = forgeOpener(options)
    this.requests = new PullRequests({ ...options, open: this.#open })
  }

  /** How its pull request is reached, or why it is not. */
  async access(observed: Observed): Promise<PullAccess | Problem | undefined> {
    const url = pullRequestOf(observed)
    const { environment, environmentClass } = observed
    const { namespace = '' } = environment.metadata
    if (url === undefined) return undefined
    const { secretRef } = environment.spec.pullRequest ?? {}
    if (secretRef) {
      // The token leaves the cluster: only an author who may read the Secret sends it anywhere.
      const access = { verb: 'get', group: '', resource: 'secrets', namespace, name: secretRef.name }
      const refusal = await this.#options.actAs.for(environment).refusalOf(access)
      if (refusal) return refusal
    }
    const found = accessTo(url, {
      ownSecret: secretRef && { namespace, name: secretRef.name },
      allowed: environmentClass?.spec.pullRequest?.forges,
    })
    return 'reason' in found || found.by === 'environment' ? found : ((await this.#refusalOfUrl(observed)) ?? found)
  }

  /** The token of the class writes only to the pull request that the Namespace names, or that an author names who may annotate the Namespace. */
  async #refusalOfUrl({ environment, namespace }: Observed): Promise<Problem | undefined> {
    const { url } = environment.spec.pullRequest ?? {}
    const { name, annotations } = namespace.metadata
    if (url === undefined || url === annotations?.[pullRequestAnnotation]) return undefined
    const access = { verb: 'patch', group: '', resource: 'namespaces', namespace: '', name }
    const refusal = await this.#options.actAs.for(environment, { ownNamespace: true }).refusalOf(access)
    return (
      refusal && {
        ...refusal,
        message: `spec.pullRequest.url: the token of the class is used for the pull request that the annotation ${pullRequestAnnotation} of the Namespace names. Annotate the Namespace, or name a secretRef: ${refusal.message}`,
      }
    )
  }

  /** What is known of its pull request. */
  async seen(observed: Observed): Promise<Surroundings['pull']> {
    const url = pullRequestOf(observed)
    const access = await this.access(observed)
    const { namespace = '', name } = observed.environment.metadata
    if (!access || 'reason' in access) this.requests.forget({ namespace })
    if (url === undefined || !access) return undefined
    if ('reason' in access) return { url, seen: undefined, problem: access }
    if (this.#options.assumesPulls) return { url, seen: asStored(observed.environment) }
    return { url, seen: this.requests.follow({ cluster: '', kind: 'Environment', namespace, name }, access) }
  }

  /** Writes the comment and the commit status where they differ from what was last written, or tells when to try again. */
  async show(observed: Observed, now: number): Promise<{ readonly shown: Environment; readonly againAt?: number }> {
    const { environment: self, environmentClass, namespace } = observed
    const { pullRequest } = self.status ?? {}
    const { comment = true, commitStatus = true } = environmentClass?.spec.pullRequest ?? {}
    const access =
      pullRequest && environmentClass && !this.#options.assumesPulls ? await this.access(observed) : undefined
    if (!pullRequest || pullRequest.state === 'unknown' || !access || 'reason' in access) return { shown: self }
    // The same for a Namespace that is created anew: its pull request has one comment, whatever happens to the environment.
    const cluster = this.#options.clusterUid() ?? self.metadata.uid
    const marker = `[//]: # (sojourn-environment ${cluster} ${namespace.metadata.name})`
    const remember = (id: string | undefined) => {
      if (comment && id && id !== 'deleted') this.#comments.set(namespace.metadata.name, { access, id, marker })
    }
    remember(pullRequest.commentId)
    const text = commentText(self, self.status ?? {}, await this.#options.keepLink(self))
    const digest = shortDigest(text)
    const state = `${pullRequest.headSHA ?? ''} ${self.status?.power === 'Waking' ? 'pending' : self.status?.power}`
    const restedAt = self.status?.deletion ? now : (parseTime(pullRequest.commentedAt) ?? 0) + commentPauseMs
    const isOutdated = comment && pullRequest.commentId !== 'deleted' && pullRequest.commentDigest !== digest
    const needsComment = isOutdated && now >= restedAt
    const needsStatus =
      commitStatus &&
      pullRequest.statusDigest !== shortDigest(state) &&
      pullRequest.headSHA !== undefined &&
      pullRequest.state === 'open'
    if (!needsComment && !needsStatus) return { shown: self, ...(isOutdated ? { againAt: restedAt } : {}) }
    try {
      const forge = await this.#open(access)
      const id = needsComment
        ? await upsertComment(forge, access.address.number, { id: pullRequest.commentId, marker, text })
        : pullRequest.commentId
      remember(id)
      if (needsStatus)
        await forge.setStatus(
          { number: access.address.number, headSHA: pullRequest.headSHA },
          {
            name: `sojourn/${namespace.metadata.name}`,
            state: self.status?.power === 'Waking' ? 'pending' : 'success',
            description: self.status?.power === 'Asleep' ? 'asleep, wakes on request' : 'environment ready',
            url: self.status?.urls?.[0] ?? access.address.repositoryUrl,
          },
        )
      const written = {
        ...pullRequest,
        ...(id === undefined ? {} : { commentId: id }),
        ...(needsComment ? { commentDigest: digest, commentedAt: formatTime(now) } : {}),
        ...(needsStatus ? { statusDigest: shortDigest(state) } : {}),
      }
      return { shown: await this.#options.write(self, { ...self.status, pullRequest: written }) }
    } catch (error) {
      // The forge decides nothing here: the life of the environment goes on, and the next look tries again.
      this.#options.ports.log.debug('pull request not updated', {
        environment: self.metadata.namespace,
        error: String(error),
      })
      return { shown: self, againAt: now + commentPauseMs }
    }
  }

  /** There is no such environment any more: its comment says so, unless its own deletion has. Tells when to try again. */
  async gone(namespace: string, text: string | undefined): Promise<number | undefined> {
    this.requests.forget({ namespace })
    const comment = this.#comments.get(namespace)
    this.#comments.delete(namespace)
    if (!comment || text === undefined) return undefined
    try {
      await upsertComment(await this.#open(comment.access), comment.access.address.number, { ...comment, text })
      return undefined
    } catch (error) {
      const { clock, log } = this.#options.ports
      log.debug('pull request not updated', { environment: namespace, error: String(error) })
      this.#comments.set(namespace, comment)
      return clock.now() + commentPauseMs
    }
  }

  /** Takes the label off that a tool creates the environment by. */
  async removeLabel(observed: Observed): Promise<boolean> {
    const { label } = observed.environmentClass?.spec.pullRequest ?? {}
    const access = label === undefined ? undefined : await this.access(observed)
    if (label === undefined || !access || 'reason' in access) return false
    // Without its label another environment is deleted: the credential of the class takes it off only where the Namespace names the pull request.
    const named = observed.namespace.metadata.annotations?.[pullRequestAnnotation]
    if (access.by === 'class' && pullRequestOf(observed) !== named) return false
    await (await this.#open(access)).removeLabel(access.address.number, label)
    return true
  }
}

/** The pull request as the status has it, for a forecast. */
function asStored({ status }: Environment): Seen | undefined {
  const { state, headSHA, closedAt, seenAt } = status?.pullRequest ?? { state: 'unknown' as const }
  return state === 'unknown' ? undefined : { pull: { state, headSHA, closedAt }, at: parseTime(seenAt) ?? 0 }
}
