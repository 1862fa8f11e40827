import type { Store } from '../../apiserver/store/store.ts'
import { readAnswer } from '../../parsing/answer.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Status } from '../../kube/status-error.ts'
import type { Http } from '../../runtime/http/http.ts'

/** Where a webhook is: at a URL, or behind a Service whose endpoints this machine reaches. */
export interface ClientConfig {
  readonly url?: string
  readonly service?: {
    readonly namespace: string
    readonly name: string
    readonly path?: string
    readonly port?: number
  }
  /** PEM, in base64. */
  readonly caBundle?: string
}

/** What a webhook answered, or why it did not. */
export interface WebhookAnswer {
  readonly problem?: string
  readonly allowed?: boolean
  readonly patch?: unknown
  readonly warnings?: readonly string[]
  readonly status?: Partial<Status>
}

/** Sends the request of an AdmissionReview and reads the answer; rejects when there is none to use. */
export type WebhookCaller = (
  config: ClientConfig,
  request: { readonly uid: string },
  timeoutMs: number,
) => Promise<WebhookAnswer>

const apiVersion = 'admission.k8s.io/v1'

/** Calls webhooks over HTTPS. A Service is called at one of its ready endpoints, by its name in the certificate. */
export function webhookCaller({
  http,
  store,
}: {
  readonly http: Http
  readonly store: Pick<Store, 'scan' | 'get'>
}): WebhookCaller {
  return async (config, request, timeoutMs) => {
    const { url, serverName } = config.url ? { url: config.url, serverName: undefined } : addressOf(store, config)
    const response = await http({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: Buffer.from(JSON.stringify({ apiVersion, kind: 'AdmissionReview', request })),
      ca: config.caBundle ? Buffer.from(config.caBundle, 'base64').toString() : undefined,
      ...(serverName ? { serverName } : {}),
      timeoutMs,
      maxBytes: maxAnswer,
    })
    if (response.status !== 200) throw new Error(`the webhook at ${url} answered ${response.status}`)
    return answerIn(response.body, request.uid)
  }
}

/** As large as an object can be, with room for a patch of all of it. */
const maxAnswer = 3 * 1024 * 1024

async function answerIn(body: Uint8Array, uid: string): Promise<WebhookAnswer> {
  const { response } = await readAnswer<{ readonly response?: Record<string, unknown> }>(body)
  if (!response || response.uid !== uid)
    throw new Error(`expected response.uid="${uid}", got "${String(response?.uid)}"`)
  const { patch, patchType, ...rest } = response
  if (typeof patch !== 'string') return rest as WebhookAnswer
  if (patchType !== 'JSONPatch') throw new Error(`unsupported patch type "${String(patchType)}": it must be JSONPatch`)
  return { ...rest, patch: await readAnswer(Buffer.from(patch, 'base64')) }
}

interface Port {
  readonly name?: string
  readonly port?: number
}

interface EndpointSlice extends StoredObject {
  readonly ports?: readonly Port[]
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[]
    readonly conditions?: { readonly ready?: boolean }
  }[]
}

/** A ready endpoint of a Service, with the port that stands behind the port of the Service. */
function addressOf(store: Pick<Store, 'scan' | 'get'>, { service }: ClientConfig): { url: string; serverName: string } {
  const { namespace = '', name = '', path = '', port = 443 } = service ?? {}
  const found = store.get({ resource: 'services', namespace, name })?.document.value
  if (!found) throw new Error(`service "${name}" not found in namespace "${namespace}"`)
  const wanted = (found.spec as { readonly ports?: readonly Port[] }).ports?.find((each) => each.port === port)
  if (!wanted) throw new Error(`no service port ${port} found for service "${name}"`)
  for (const { document } of store.scan({ resource: endpointSlices, namespace, limit: Number.MAX_SAFE_INTEGER })) {
    const { metadata, endpoints, ports } = document.value as EndpointSlice
    if (metadata.labels?.['kubernetes.io/service-name'] !== name) continue
    const at = ports?.find((each) => (each.name ?? '') === (wanted.name ?? ''))?.port
    const address = endpoints?.find(({ conditions }) => conditions?.ready !== false)?.addresses?.[0]
    if (at === undefined || address === undefined) continue
    const host = address.includes(':') ? `[${address}]` : address
    return { url: `https://${host}:${at}/${path.replace(/^\//, '')}`, serverName: `${name}.${namespace}.svc` }
  }
  throw new Error(`no endpoints available for service "${name}"`)
}

const endpointSlices = 'endpointslices.discovery.k8s.io'
