import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { SecretData } from '../repository/repository-access.ts'
import type { EffectResult } from '../decision/results.ts'
import { signRequest } from '../http/signature.ts'
import { PromotionError } from '../../../git/promotion-error.ts'
import type { TemplateValues } from '../repository/templates.ts'

/** Posts a CloudEvent with the promotion's id as its id, so that the receiver can recognise a repeat. */
export async function callWebhook(
  work: { readonly promotion: Promotion; readonly values: TemplateValues; readonly secret: SecretData | undefined },
  given: { readonly http: Http; readonly now: number; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const { promotion, values, secret } = work
  const url = promotion.strategy?.url ?? ''
  const body = Buffer.from(JSON.stringify(cloudEvent(values, promotion)))
  const key = secret?.['hmac-key']
  const path = new URL(url).pathname + new URL(url).search
  const signed = key
    ? {
        'sojourn-signature': signRequest(
          { method: 'POST', path, body },
          { key, keyId: 'current', now: given.now, nonce: values.id },
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
  const isTransient = status >= 500 || status === 408 || status === 409 || status === 425
  const [kind, because] = isTransient
    ? (['Transient', 'GitProviderUnavailable'] as const)
    : (['Permanent', status === 401 || status === 403 ? 'CredentialsRefused' : 'RequestRefused'] as const)
  throw new PromotionError(kind, because, `${new URL(url).host} answered ${status}`, { httpStatus: status })
}

/** The CloudEvent 1.0 of a promotion. */
function cloudEvent(values: TemplateValues, { intentAt }: Promotion): object {
  const { namespace, pipeline, environment, revision, value, fromRevision, id } = values
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
