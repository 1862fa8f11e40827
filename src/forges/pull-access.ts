import { shortDigest } from '../kube/basics/short-digest.ts'
import type { AllowedForge } from '../apis/environment-class.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { ForgeType } from '../apis/pipeline.ts'
import { permanent } from '../git/promotion-error.ts'
import type { KubeObject, Place } from '../kube/object.ts'
import type { ControllerPorts } from '../runtime/controller/controller.ts'
import type { Http } from '../runtime/http/http.ts'
import { ResponseCache } from './forge-api.ts'
import type { Forge } from './forge.ts'
import { openForge } from './open-forge.ts'
import { parsePullUrl } from './pull-address.ts'
import type { PullAccess } from './pull-requests.ts'
import { RateLimiter } from './rate-limiter.ts'
import { repositoryAddress } from './repository-address.ts'

/** The credential for a pull request, or why there is none. A token is only ever used for the repositories it was given for. */
export function accessTo(
  url: string,
  {
    ownSecret,
    allowed = [],
  }: { readonly ownSecret: Required<Place> | undefined; readonly allowed: readonly AllowedForge[] | undefined },
): PullAccess | { readonly reason: 'InvalidURL' | 'NotAllowed'; readonly message: string } {
  const address = parsePullUrl(url)
  if (!address)
    return { reason: 'InvalidURL', message: 'spec.pullRequest.url is not the https address of a pull request' }
  if (ownSecret) return { address, secret: ownSecret, by: 'environment' }
  const forge = allowed.find(
    ({ host, type, repositories }) =>
      host === address.host &&
      // The path is read in the same way as it was matched: a decoded slash would be another repository.
      (type === 'forgejo' ? 'gitea' : type) === address.type &&
      !/%(?:2f|5c|2e)/i.test(address.repository) &&
      repositories.some((each) => matchesGlob(each, address.repository)),
  )
  if (!forge)
    return {
      reason: 'NotAllowed',
      message: `no entry of spec.pullRequest.forges of the class allows ${address.host}/${address.repository}, and the environment names no secretRef`,
    }
  const secret = { namespace: sojournNamespace, name: forge.secretRef.name }
  return { address: { ...address, type: forge.type }, secret, by: 'class' }
}

/** `acme/*` matches every repository of acme; an asterisk stands for any text without a slash. */
function matchesGlob(pattern: string, text: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^/]*')}$`, 'i').test(text)
}

/** Requests per second and credential, where a forge allows fewer or more than one: a share of that. */
const budgets: Partial<Record<ForgeType, number>> = {
  github: 1000 / 3600,
  gitlab: 5,
  'bitbucket-cloud': 300 / 3600,
}

export interface ForgesPorts {
  readonly readSecret: (place: Required<Place>) => Promise<KubeObject | undefined>
  readonly ports: Pick<ControllerPorts, 'clock'>
  /** Reaches the hosts that tenants name, and those that administrators do. */
  readonly http: Readonly<Record<PullAccess['by'], Http>>
}

/** Opens the APIs of forges with the credentials of accesses, within one budget for each host and credential. */
export function forgeOpener({ readSecret, http, ports }: ForgesPorts): (access: PullAccess) => Promise<Forge> {
  const limiters = new Map<ForgeType, RateLimiter>()
  const cache = new ResponseCache()
  return async ({ address: { type, repositoryUrl }, secret, by }) => {
    const found = await readSecret(secret)
    const data = (found?.data ?? {}) as Readonly<Record<string, string>>
    const field = (name: string) => data[name] && Buffer.from(data[name], 'base64').toString('utf8').trim()
    const token = field('token') ?? field('password')
    if (!token) {
      const name = `Secret ${secret.namespace}/${secret.name}`
      throw permanent('CredentialsMissing', found ? `${name} has no token or password` : `there is no ${name}`)
    }
    const limiter =
      limiters.get(type) ?? new RateLimiter({ now: () => ports.clock.now(), perSecond: budgets[type] ?? 1 })
    limiters.set(type, limiter)
    const credential = shortDigest(token)
    return openForge(type, repositoryAddress(type, repositoryUrl), {
      http: limiter.wrap(http[by], credential),
      token,
      ca: field('caFile') ?? field('ca.crt'),
      cache,
    })
  }
}
