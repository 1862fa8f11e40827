import { SecretValues } from '../../kube/redact.ts'
import type { KubeObject } from '../../kube/object.ts'
import type { ApiRequest, ApiResponse, Transport } from '../../kube/transport.ts'

/** The values of Secrets that this process has read. Log lines, Events and the messages of statuses never contain one. */
export const knownSecrets = new SecretValues()

/** Notes the values of all Secrets that come along, and keeps them out of the messages in statuses that are written. */
export function secretKeepingTransport(transport: Transport, values: SecretValues = knownSecrets): Transport {
  return async (request) => {
    const isSecrets = /\/secrets(?:\/[^/]+)?$/.test(request.path)
    const response = await transport(request.method === 'GET' ? request : withoutValues(request, values))
    return isSecrets ? noting(response, values) : response
  }
}

function noting(response: ApiResponse, values: SecretValues): ApiResponse {
  const { body, stream } = response
  const { items } = (body ?? {}) as { readonly items?: readonly KubeObject[] }
  if (items) for (const item of items) values.add({ ...item, apiVersion: 'v1', kind: 'Secret' })
  else if (typeof body === 'object' && body !== null && 'kind' in body) values.add(body as KubeObject)
  return stream ? { ...response, stream: notingEvents(stream, values) } : response
}

async function* notingEvents(stream: AsyncIterable<unknown>, values: SecretValues): AsyncIterable<unknown> {
  for await (const event of stream) {
    const { object } = event as { readonly object?: KubeObject }
    if (object?.metadata) values.add(object)
    yield event
  }
}

function withoutValues(request: ApiRequest, values: SecretValues): ApiRequest {
  const { body } = request
  if (values.size === 0 || typeof body !== 'object' || body === null || !('status' in body)) return request
  return { ...request, body: { ...body, status: inMessages(body.status, values) } }
}

/** Only texts for people: a name or a uid may be the value of a Secret by chance, and must stay what it is. */
function inMessages(value: unknown, values: SecretValues): unknown {
  if (Array.isArray(value)) return value.map((item) => inMessages(item, values))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      typeof field === 'string' && messageFields.has(name) ? values.removeFrom(field) : inMessages(field, values),
    ]),
  )
}

const messageFields = new Set(['message', 'detail', 'error', 'lastError'])
