import http2 from 'node:http2'
import net from 'node:net'
import { gzipSync } from 'node:zlib'
import { read } from '../../src/apiserver/schema/wire/body-text.ts'
import { compile } from '../../src/cel/compile.ts'
import { cleanerEnvironment } from '../../src/cel/environments.ts'
import { CelCompileError } from '../../src/cel/errors.ts'
import { Budget } from '../../src/cel/frame.ts'
import { dynType } from '../../src/cel/types.ts'
import { ConfigError } from '../../src/client/cluster-config.ts'
import { parseKubeconfig } from '../../src/client/kubeconfig.ts'
import { read as readRelease } from '../../src/helm/release-text.ts'
import { ParseRefusal } from '../../src/parsing/parse-refusal.ts'
import { parsingThread } from '../../src/parsing/parsing-thread.ts'
import { Head } from '../../src/systems/activator/proxy/wire/head.ts'
import { askHttp2, startEcho, startProxy } from '../activator/proxy.ts'

/** Something that reads what strangers send. `try` throws when it does what it must not. */
export interface FuzzTarget extends AsyncDisposable {
  try(input: Buffer): Promise<void> | void
}

export const targets: Readonly<Record<string, () => Promise<FuzzTarget> | FuzzTarget>> = {
  body: () => ({ try: tryBody, [Symbol.asyncDispose]: () => Promise.resolve() }),
  head: () => ({ try: tryHead, [Symbol.asyncDispose]: () => Promise.resolve() }),
  cel: () => ({ try: tryCel, [Symbol.asyncDispose]: () => Promise.resolve() }),
  http2: startHttp2,
  release: () => ({ try: tryRelease, [Symbol.asyncDispose]: () => Promise.resolve() }),
  kubeconfig: () => ({
    try: tryKubeconfig,
    [Symbol.asyncDispose]: () => {
      return parsingThread.close()
    },
  }),
}

/** A body is read or refused, in every format. */
function tryBody(bytes: Buffer): void {
  const assume = { group: '', version: 'v1', kind: 'Pod' }
  for (const format of ['yaml', 'json', 'protobuf'] as const) {
    const text = format === 'protobuf' ? Buffer.concat([Buffer.from('k8s\0'), bytes]) : bytes
    refusedOrRead(() => JSON.stringify(read({ bytes: text, format, assume })))
  }
}

/** A head ends within what arrived, not before its end, and does not depend on what follows it. */
function tryHead(bytes: Buffer): void {
  const whole = headOf(bytes)
  if (whole.parsed !== 'complete') return
  const { end, count } = whole.head
  if (end > bytes.length) throw new Error('the head ends behind its last byte')
  if (headOf(bytes.subarray(0, end - 1)).parsed === 'complete') throw new Error('the head is complete before its end')
  const alone = headOf(bytes.subarray(0, end))
  if (alone.parsed !== 'complete' || alone.head.count !== count) throw new Error('the head depends on what follows it')
}

/** The parser wants a byte of no meaning behind what arrived. */
function headOf(bytes: Buffer) {
  const head = new Head()
  return { head, parsed: head.parseRequest(Buffer.concat([bytes, Buffer.from([0xff])]), 0, bytes.length) }
}

/** A Helm release, plain and zipped, is read or refused; so is what a change makes of the zipped bytes. */
function tryRelease(bytes: Buffer): void {
  const isZipped = bytes[0] === 0x1f && bytes[1] === 0x8b
  for (const content of isZipped ? [bytes] : [bytes, gzipSync(bytes)])
    refusedOrRead(() => readRelease({ kind: 'ConfigMap', release: content.toString('base64') }))
}

/** A kubeconfig of a Secret is read or refused, and leads to no program, file or proxy. */
async function tryKubeconfig(bytes: Buffer): Promise<void> {
  const options = { origin: 'Secret', now: () => 0, env: {} }
  const config = await parseKubeconfig(bytes.toString(), options).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error
  })
  await config?.credentials().catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error
  })
}

function refusedOrRead(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof ParseRefusal)) throw error
  }
}

const variables = ['self', 'targets', 'time']
const environment = cleanerEnvironment(Object.fromEntries(variables.map((name) => [name, dynType])))
const data = { self: { metadata: { name: 'a' } }, targets: [1, 'a', null], time: '2027-01-01T00:00:00Z' }

/** An expression is refused or has a value or an error, within its budget. */
function tryCel(bytes: Buffer): void {
  const program = compile(bytes.toString().slice(0, 4000), environment)
  if (program instanceof CelCompileError) return
  program.evaluate(data, { budget: new Budget(20_000) })
}

/** Whatever one connection says, another one is served. */
async function startHttp2(): Promise<FuzzTarget> {
  const opened = new AsyncDisposableStack()
  const pod = opened.use(await startEcho())
  const proxy = opened.use(await startProxy())
  proxy.warm(pod.address)
  const session = http2.connect(`http://127.0.0.1:${proxy.port}`)
  opened.defer(() => session.destroy())
  return {
    async try(bytes) {
      await said(proxy.port, bytes)
      const { headers } = await askHttp2(session, { ':method': 'GET', ':path': '/' })
      if (Number(headers[':status']) !== 200)
        throw new Error(`another connection was answered with ${String(headers[':status'])}`)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function said(port: number, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => socket.end(bytes))
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.on('data', () => socket.destroy())
    socket.setTimeout(20, () => socket.destroy())
  })
}
