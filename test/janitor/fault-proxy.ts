import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'

/** What happens to a call instead of reaching AWS. */
export type Fault =
  | { readonly status: number; readonly code: string; readonly message?: string }
  /** The answer is cut in the middle. */
  | 'cut'
  /** No answer at all. */
  | 'drop'

export interface Call {
  readonly action: string
  readonly status: number
}

/** A proxy in front of a pretended AWS: remembers every call, and makes some of them fail. */
export interface FaultProxy extends AsyncDisposable {
  readonly url: string
  /** Every call so far, in order, with what was answered. */
  readonly calls: Call[]
  /** Asked for every call; undefined lets it pass. */
  fault: (action: string) => Fault | undefined
  /** What becomes of an answer. */
  rewrite: (action: string, text: string) => string
  /** The time its answers carry. Defaults to the real one. */
  now: () => number
  /** The actions that changed something and were answered well. */
  writes(): readonly string[]
}

export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const calls: Call[] = []
  const server = createServer((request, response) => void handle(request, response))
  const proxy: FaultProxy = {
    url: '',
    calls,
    fault: () => undefined,
    rewrite: (_, text) => text,
    now: () => Date.now(),
    writes: () => calls.filter(({ action, status }) => status < 300 && !isRead(action)).map(({ action }) => action),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return Object.assign(proxy, { url: `http://127.0.0.1:${port}` })

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request)
    const action = actionOf(request, body.toString('utf8'))
    const fault = proxy.fault(action)
    if (fault === 'drop') {
      calls.push({ action, status: 0 })
      request.socket.destroy()
      return
    }
    if (fault && fault !== 'cut') {
      calls.push({ action, status: fault.status })
      response.writeHead(fault.status, { 'content-type': 'text/xml' })
      response.end(errorBody(request, fault))
      return
    }
    forward(request, { body, action, response, cut: fault === 'cut' })
  }

  function forward(
    request: IncomingMessage,
    { body, action, response, cut }: { body: Buffer; action: string; response: ServerResponse; cut: boolean },
  ): void {
    const url = new URL(request.url ?? '/', target)
    const onward = httpRequest(url, { method: request.method, headers: request.headers }, (answer) => {
      void bodyOf(answer).then((original) => {
        const isText = !String(answer.headers['content-type']).includes('cbor')
        const text = isText ? Buffer.from(proxy.rewrite(action, original.toString('utf8'))) : original
        calls.push({ action, status: cut ? 0 : (answer.statusCode ?? 0) })
        const date = new Date(proxy.now()).toUTCString()
        response.writeHead(answer.statusCode ?? 502, { ...answer.headers, date, 'content-length': String(text.length) })
        if (!cut) return response.end(text)
        response.write(text.subarray(0, text.length / 2))
        return void setImmediate(() => request.socket.destroy())
      })
    })
    onward.on('error', () => response.destroy())
    onward.end(body)
  }
}

function isRead(action: string): boolean {
  return /^(Describe|List|Get|BatchGet|AssumeRole|GET )/.test(action)
}

/** Query services name the action in the body, JSON services in a header, REST services in the path. */
function actionOf(request: IncomingMessage, body: string): string {
  const target = request.headers['x-amz-target']
  if (typeof target === 'string') return target.split('.').at(-1) ?? target
  const [, operation] = /\/operation\/(\w+)$/.exec(request.url ?? '') ?? []
  return operation ?? new URLSearchParams(body).get('Action') ?? `${request.method} ${request.url}`
}

function errorBody(
  request: IncomingMessage,
  { code, message = code }: { readonly code: string; readonly message?: string },
): string {
  const isEc2 = String(request.headers.authorization ?? '').includes('/ec2/')
  const error = `<Error><Code>${code}</Code><Message>${message}</Message></Error>`
  return isEc2
    ? `<?xml version="1.0"?><Response><Errors>${error}</Errors><RequestID>0</RequestID></Response>`
    : `<?xml version="1.0"?><ErrorResponse>${error}<RequestId>0</RequestId></ErrorResponse>`
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
