import { createServer } from 'node:http'
import { SMTPServer } from 'smtp-server'

/** A mail as it arrived. */
export interface Mail {
  readonly to: readonly string[]
  readonly text: string
}

export interface MailSink extends AsyncDisposable {
  readonly port: number
  readonly mails: Mail[]
  /** What a recipient is answered; undefined accepts. */
  refuse: (address: string) => { readonly code: number; readonly message: string } | undefined
}

/** A mail server that keeps what it is given. */
export async function startMailSink(): Promise<MailSink> {
  const mails: Mail[] = []
  const sink = {
    mails,
    port: 0,
    refuse: (_address: string): { code: number; message: string } | undefined => undefined,
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo({ address }, _session, done) {
      const refusal = sink.refuse(address)
      done(refusal ? Object.assign(new Error(refusal.message), { responseCode: refusal.code }) : null)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        mails.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString('utf8'),
        })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as { port: number }
  return Object.assign(sink, {
    port,
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  })
}

export interface Posted {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface WebSink extends AsyncDisposable {
  readonly url: string
  readonly posts: Posted[]
  /** How the next posts are answered. Defaults to 200. */
  answer: () => { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
}

/** A web server that keeps what is posted to it. */
export async function startWebSink(): Promise<WebSink> {
  const posts: Posted[] = []
  const sink = { posts, url: '', answer: (): ReturnType<WebSink['answer']> => ({ status: 200, body: 'ok' }) }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')))
    request.on('end', () => {
      posts.push({ path: request.url ?? '', headers: request.headers, body })
      const { status, headers = {}, body: text = '' } = sink.answer()
      response.writeHead(status, headers).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return Object.assign(sink, {
    url: `http://127.0.0.1:${port}/hook`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  })
}
