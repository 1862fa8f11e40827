import { execFile } from 'node:child_process'
import { request as requestHttp } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as requestHttps } from 'node:https'
import { connect } from 'node:net'
import type { Handler } from '../types.ts'

/** The container a handler acts on. */
export interface HandlerTarget {
  readonly host: string
  /** The local port behind a container port, by number or name. */
  portOf(port: number | string): number | undefined
  readonly env: Readonly<Record<string, string>>
  readonly workingDir?: string
}

/** Runs the action of a probe or lifecycle hook. Returns what went wrong, also with the handler itself; undefined on success. */
export async function runHandler(
  handler: Handler,
  target: HandlerTarget,
  timeoutMs: number,
): Promise<string | undefined> {
  // Node throws at a header or an argument that it cannot send.
  return run(handler, target, timeoutMs).catch((error: unknown) => (error as Error).message)
}

async function run(handler: Handler, target: HandlerTarget, timeoutMs: number): Promise<string | undefined> {
  const { httpGet, tcpSocket, grpc, exec } = handler
  const port = httpGet?.port ?? tcpSocket?.port ?? grpc?.port
  if (port === undefined) return exec?.command ? runCommand(exec.command, target, timeoutMs) : undefined
  const realPort = target.portOf(port)
  if (realPort === undefined) return `the container has no port ${port}`
  const address = { host: target.host, port: realPort }
  if (httpGet) return callHttp(httpGet, address, timeoutMs)
  return grpc ? callGrpc(grpc.service ?? '', address, timeoutMs) : callTcp(address, timeoutMs)
}

interface Address {
  readonly host: string
  readonly port: number
}

function callHttp(
  { path = '/', scheme = 'HTTP', httpHeaders = [] }: NonNullable<Handler['httpGet']>,
  address: Address,
  timeoutMs: number,
): Promise<string | undefined> {
  const headers = Object.fromEntries([
    ['user-agent', 'kube-probe/1.36'],
    ...httpHeaders.map(({ name, value }) => [name, value]),
  ]) as Record<string, string>
  // Like a kubelet, accept any certificate.
  const { pathname, search } = new URL(path, 'http://container')
  const to = { ...address, path: pathname + search, headers }
  const options = { ...to, timeout: timeoutMs, agent: false, rejectUnauthorized: false }
  return new Promise((resolve) => {
    const outgoing = (scheme === 'HTTPS' ? requestHttps : requestHttp)(options, (response) => {
      const status = response.statusCode ?? 0
      response.destroy()
      resolve(status >= 200 && status < 400 ? undefined : `HTTP status ${status}`)
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(timedOut(timeoutMs))))
    outgoing.on('error', ({ message }) => resolve(message))
    outgoing.end()
  })
}

function callTcp(address: Address, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...address, timeout: timeoutMs })
    const end = (problem?: string) => {
      socket.destroy()
      resolve(problem)
    }
    socket.on('connect', () => end())
    socket.on('timeout', () => end(timedOut(timeoutMs)))
    socket.on('error', ({ message }) => end(message))
  })
}

/** Calls `grpc.health.v1.Health/Check`; its two messages are small enough to encode by hand. */
function callGrpc(service: string, { host, port }: Address, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const session = connectHttp2(`http://${host}:${port}`)
    const end = (problem?: string) => {
      session.destroy()
      resolve(problem)
    }
    session.setTimeout(timeoutMs, () => end(timedOut(timeoutMs)))
    session.on('error', ({ message }: Error) => end(message))
    const stream = session.request({
      ':method': 'POST',
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    const answer: Buffer[] = []
    stream.on('data', (chunk: Buffer) => answer.push(chunk))
    stream.on('error', ({ message }: Error) => end(message))
    stream.on('end', () => end(isServing(Buffer.concat(answer)) ? undefined : 'the service is not SERVING'))
    stream.end(healthRequest(service))
  })
}

/** A gRPC frame with the name of the service as its only field. */
function healthRequest(service: string): Buffer {
  const name = Buffer.from(service, 'utf8')
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, name.length]), name])
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
}

/** Whether the first field of the answer is 1: SERVING. */
function isServing(frame: Buffer): boolean {
  return frame.subarray(5, 7).equals(Buffer.from([0x08, 1]))
}

function runCommand(
  [file = '', ...args]: readonly string[],
  { env, workingDir }: HandlerTarget,
  timeout: number,
): Promise<string | undefined> {
  const options = { env, timeout, killSignal: 'SIGKILL', ...(workingDir ? { cwd: workingDir } : {}) } as const
  return new Promise((resolve) =>
    execFile(file, [...args], options, (error, stdout, stderr) =>
      resolve(
        error === null ? undefined : error.killed ? timedOut(timeout) : (stderr || stdout || error.message).trim(),
      ),
    ),
  )
}

function timedOut(timeoutMs: number): string {
  return `no answer within ${timeoutMs / 1000} s`
}
