import type { Pipeline } from '../../../apis/pipeline.ts'
import { formatTime } from '../../../kube/time.ts'
import type { KubeObject } from '../../../kube/object.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { EffectResult } from '../decision/results.ts'
import { Trouble } from '../../../git/trouble.ts'
import type { Words } from '../repository/wording.ts'

export interface NotificationPorts {
  /** Creates an Event; one that is there already is success. */
  readonly createEvent: (event: KubeObject) => Promise<void>
  /** Where Flux's notification controller takes events; absent when there is none. */
  readonly eventsAddress?: string | undefined
  readonly http: Http
  readonly now: () => number
}

/** Tells the cluster and Flux that an environment should get a revision. Receivers know repeats by the id. */
export async function notify(
  pipeline: Pipeline,
  words: Words,
  given: { readonly ports: NotificationPorts; readonly signal: AbortSignal },
): Promise<EffectResult> {
  const { ports, signal } = given
  await ports.createEvent(promoteEvent(pipeline, words, ports.now()))
  if (ports.eventsAddress) await postToFlux(pipeline, words, { ports, signal })
  return { result: 'notified' }
}

/** Named after the promotion, so that a second try finds the first. */
function promoteEvent(pipeline: Pipeline, words: Words, now: number): KubeObject {
  const { apiVersion, kind, metadata } = pipeline
  const { namespace = '', name, uid, resourceVersion } = metadata
  const at = formatTime(now)
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${name}.${words.id}`.slice(-253),
      namespace,
      annotations: { environment: words.environment, version: words.revision, 'sojourn.dev/promotion-id': words.id },
    },
    involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
    type: 'Normal',
    reason: 'Promote',
    message: sentenceOf(words),
    source: { component: 'sojourn-promoter' },
    reportingComponent: 'sojourn-promoter',
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  }
}

async function postToFlux(
  pipeline: Pipeline,
  words: Words,
  { ports, signal }: { readonly ports: NotificationPorts; readonly signal: AbortSignal },
): Promise<void> {
  const { apiVersion, kind, metadata } = pipeline
  const { namespace = '', name, uid, resourceVersion } = metadata
  const event = {
    involvedObject: { apiVersion, kind, namespace, name, uid, resourceVersion },
    severity: 'info',
    timestamp: formatTime(ports.now()),
    message: sentenceOf(words),
    reason: 'Promote',
    metadata: { environment: words.environment, version: words.revision, 'sojourn.dev/promotion-id': words.id },
    reportingController: 'sojourn-promoter',
    reportingInstance: 'sojourn-promoter',
  }
  const url = ports.eventsAddress ?? ''
  const { status } = await ports.http({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(event)),
    signal,
  })
  // 429 is how Flux says that it has heard the same lately.
  if (status >= 300 && status !== 429)
    throw new Trouble('Transient', 'GitProviderUnavailable', `the events address answered ${status}`, {
      httpStatus: status,
    })
}

function sentenceOf({ namespace, pipeline, environment, revision }: Words): string {
  return `Promote pipeline ${namespace}/${pipeline} to ${environment} with version ${revision}`
}
