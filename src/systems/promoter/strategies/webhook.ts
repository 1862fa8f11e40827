import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { SecretData } from '../repository/repository-access.ts'
import type { EffectResult } from '../decision/results.ts'
import { signRequest } from '../http/signature.ts'
import { Trouble } from '../../../git/trouble.ts'
import type { Words } from '../repository/wording.ts'

/** Posts a CloudEvent whose id is the promotion's, so that a repeat can be known. */
export async function call(
  work: { readonly promotion: Promotion; readonly words: Words; readonly secret: SecretData | undefined },
  given: { readonly http: Http; readonly now: number; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const { promotion, words, secret } = work
  const url = promotion.strategy?.url ?? ''
  const body = Buffer.from(JSON.stringify(cloudEvent(words, promotion)))
  const key = secret?.['hmac-key']
  const path = new URL(url).pathname + new URL(url).search
  const signed = key
    ? {
        'sojourn-signature': signRequest(
          { method: 'POST', path, body },
          { key, keyId: 'current', now: given.now, nonce: words.id },
        ),
      }
    : {}
  const token = secret?.['token']
  const { status } = await given.http({
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/cloudevents+json',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...signed,
    },
    body,
    ca: secret?.['caFile'],
    signal: given.signal,
  })
  if (status >= 200 && status < 300) return { result: 'notified' }
  const mayPass = status >= 500 || status === 408 || status === 409 || status === 425
  const [kind, because] = mayPass
    ? (['Transient', 'GitProviderUnavailable'] as const)
    : (['Permanent', status === 401 || status === 403 ? 'CredentialsRefused' : 'RequestRefused'] as const)
  throw new Trouble(kind, because, `${new URL(url).host} answered ${status}`, { httpStatus: status })
}

function cloudEvent(words: Words, { intentAt }: Promotion): object {
  const { namespace, pipeline, environment, revision, value, fromRevision, id } = words
  return {
    specversion: '1.0',
    id,
    source: `/apis/pipelines.weave.works/v1alpha1/namespaces/${namespace}/pipelines/${pipeline}`,
    type: 'dev.sojourn.promotion.requested.v1',
    subject: environment,
    ...(intentAt ? { time: intentAt } : {}),
    datacontenttype: 'application/json',
    data: { namespace, pipeline, environment, revision, value, ...(fromRevision ? { fromRevision } : {}) },
  }
}
