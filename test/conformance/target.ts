import { request as httpsRequest, type Agent } from 'node:https'

/** An API server to question. */
export interface Target {
  readonly url: string
  readonly token: string
  readonly ca: string
}

/** One question. */
export interface Step {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** A value is sent as JSON, text and bytes as they are. */
  readonly body?: unknown
  /** Asks as this user instead of the administrator. */
  readonly as?: string
  /** Whether the answer, beyond its code and a failure's Status, is not compared: it is known to differ, or is not of interest. */
  readonly unlike?: boolean
  /** Whether the warnings are compared where the rest is not. */
  readonly warnings?: boolean
  /** Asks again until the answer has this code: the other server does some things a moment later. */
  readonly until?: number
}

/** Steps that belong together, in order. */
export interface Scenario {
  readonly name: string
  readonly steps: readonly Step[]
}

export interface Reply {
  readonly status: number
  readonly type: string
  readonly warnings: readonly string[]
  readonly body: unknown
}

/** Asks one question over the network. */
export function ask(target: Target, agent: Agent, step: Step): Promise<Reply> {
  const { method = 'GET', path, headers = {}, body, as } = step
  const payload =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(
      `${target.url}${path}`,
      {
        method,
        agent,
        headers: {
          authorization: `Bearer ${target.token}`,
          accept: 'application/json',
          'user-agent': 'conformance/1',
          ...(payload === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) }),
          ...(as ? { 'impersonate-user': as } : {}),
          ...headers,
        },
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            type: String(response.headers['content-type'] ?? '').split(';')[0] ?? '',
            // kube-apiserver gives those about keys of one map in any order.
            warnings: [response.headers['warning'] ?? []]
              .flat()
              .flatMap((header) => header.split(/, (?=299 )/))
              .toSorted(),
            body: parsed(text),
          }),
        )
      },
    )
    outgoing.on('error', (error) => reject(new Error(`${method} ${path} got no answer`, { cause: error })))
    outgoing.end(payload)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
