import type { Pipeline } from '../../../apis/pipeline.ts'
import { formatTime } from '../../../kube/time.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { EffectResult } from '../decision/results.ts'
import { PromotionError, transient } from '../../../git/promotion-error.ts'
import type { TemplateValues } from '../repository/templates.ts'
import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { SecretData } from '../repository/repository-access.ts'
import { signRequest } from '../http/signature.ts'

export interface NotificationPorts {
  /** Creates an Event; succeeds when it exists already. */
  readonly createEvent: (event: KubeObject) => Promise<void>
  /** Where Flux's notification controller receives events, if there is one. The operator names it, not the pipeline's author. */
  readonly flux?: { readonly eventsAddress: string; readonly http: Http } | undefined
  readonly now: () => number
}

/** Creates the Event that requests a promotion, and posts it to Flux. Receivers recognise repeats by the promotion id. */
export async function notify(
  pipeline: Pipeline,
  values: TemplateValues,
  given: { readonly ports: NotificationPorts; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const { ports, signal } = given
  await ports.createEvent(promoteEvent(pipeline, values, ports.now()))
  const { flux, now } = ports
  if (flux) await postToFlux(fluxEvent(pipeline, values, now()), { flux, signal })
  return { result: 'notified' }
}

const component = 'sojourn-promoter'

/** What both forms of the event say. */
function contentOf({ apiVersion, kind, metadata }: Pipeline, values: TemplateValues) {
  const { namespace = '', name, uid, resourceVersion } = metadata
  const { environment, revision, id } = values
  return {
    involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
    reason: 'Promote',
    message: `Promote pipeline ${namespace}/${name} to ${environment} with version ${revision}`,
    labels: { environment, version: revision, 'sojourn.dev/promotion-id': id },
  }
}

/** Named after the promotion, so that a second attempt finds the Event of the first. */
function promoteEvent(pipeline: Pipeline, values: TemplateValues, now: number): KubeObject {
  const { labels: annotations, ...content } = contentOf(pipeline, values)
  const { namespace = '', name } = pipeline.metadata
  const at = formatTime(now)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${values.id}`.slice(-253), namespace, annotations },
    ...content,
    type: 'Normal',
    source: { component },
    reportingComponent: component,
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
}

/** The event in the format of Flux's notification controller. */
function fluxEvent(pipeline: Pipeline, values: TemplateValues, now: number): object {
  const { labels: metadata, ...content } = contentOf(pipeline, values)
  const reporting = { reportingController: component, reportingInstance: component }
  return { ...content, metadata, severity: 'info', timestamp: formatTime(now), ...reporting }
}

async function postToFlux(
  event: object,
  given: { readonly flux: NonNullable<NotificationPorts['flux']>; readonly signal: AbortSignal },
): Promise<void> {
  const { flux, signal } = given
  const { status } = await flux.http({
    method: 'POST',
    url: flux.eventsAddress,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(event)),
    signal,
  })
  // Flux answers 429 to an event it has received before.
  if (status >= 300 && status !== 429)
    throw transient('GitProviderUnavailable', `the Flux events address answered ${status}`, {
      httpStatus: status,
    })
}

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
