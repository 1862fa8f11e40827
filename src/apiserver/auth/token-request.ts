import type { KubeObject } from '../../kube/object.ts'
import { notFound, StatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { invalid, invalidValue } from '../schema/types/field-error.ts'
import type { UidLookup } from './authenticator.ts'
import { defaultAudience, type BoundObject, type ServiceAccountTokens } from './service-account-tokens.ts'

const defaultSeconds = 3600
const minSeconds = 600
const maxSeconds = 2 ** 32

/** What issuing tokens needs. */
export interface TokenRequestPorts {
  readonly tokens: ServiceAccountTokens
  readonly uidOf: UidLookup
  readonly now: () => number
}

interface TokenRequestSpec {
  readonly audiences?: readonly string[]
  readonly expirationSeconds?: number
  readonly boundObjectRef?: { readonly kind?: string; readonly name?: string; readonly uid?: string }
}

/** Answers `create serviceaccounts/token`: the TokenRequest that was sent, with a token in its status. */
export function issueToken(
  { tokens, uidOf, now }: TokenRequestPorts,
  { request, namespace, name }: { readonly request: KubeObject; readonly namespace: string; readonly name: string },
): KubeObject {
  const uid = uidOf('serviceaccounts', namespace, name)
  if (uid === undefined) throw notFound({ group: '', plural: 'serviceaccounts' }, name)
  const spec = (request.spec ?? {}) as TokenRequestSpec
  const seconds = lifetime(spec.expirationSeconds ?? defaultSeconds)
  const audiences = spec.audiences?.length ? spec.audiences : [defaultAudience]
  const bound = boundObject(spec.boundObjectRef, namespace, uidOf)
  const issuedAt = Math.floor(now() / 1000)
  const token = tokens.sign({
    namespace,
    serviceAccount: { name, uid },
    audiences,
    issuedAt,
    expiresAt: issuedAt + seconds,
    ...(bound ? { bound } : {}),
  })
  return {
    ...request,
    metadata: { ...request.metadata, name, namespace, creationTimestamp: formatTime(now()) },
    spec: { ...spec, audiences, expirationSeconds: seconds, boundObjectRef: spec.boundObjectRef ?? null },
    status: { token, expirationTimestamp: formatTime((issuedAt + seconds) * 1000) },
  }
}

function lifetime(seconds: number): number {
  if (seconds >= minSeconds && seconds <= maxSeconds) return seconds
  const fault =
    seconds < minSeconds
      ? 'may not specify a duration less than 10 minutes'
      : 'may not specify a duration larger than 2^32 seconds'
  const kind = { group: 'authentication.k8s.io', kind: 'TokenRequest' }
  throw invalid(kind, '', [invalidValue('spec.expirationSeconds', seconds, fault)])
}

function boundObject(
  ref: TokenRequestSpec['boundObjectRef'],
  namespace: string,
  uidOf: UidLookup,
): BoundObject | undefined {
  if (!ref) return undefined
  const { kind, name = '', uid } = ref
  if (kind !== 'Pod' && kind !== 'Secret' && kind !== 'Node') {
    throw new StatusError(
      'BadRequest',
      `cannot bind token for serviceaccount to object of kind ${JSON.stringify(kind ?? '')}`,
    )
  }
  const plural = `${kind.toLowerCase()}s`
  const found = uidOf(plural, kind === 'Node' ? '' : namespace, name)
  if (found === undefined) throw notFound({ group: '', plural }, name)
  if (uid && uid !== found) {
    const message = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`
    throw new StatusError(
      'Conflict',
      `Operation cannot be fulfilled on ${plural} ${JSON.stringify(name)}: ${message}`,
      {
        details: { name, kind: plural },
      },
    )
  }
  return { kind, name, uid: found }
}
