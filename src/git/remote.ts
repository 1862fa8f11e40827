import { permanent } from './promotion-error.ts'
import type { GitObject } from './objects.ts'
import { readPack, writePack, type ObjectStore } from './pack.ts'

/** The options of a fetch. */
export interface FetchRequest {
  readonly wants: readonly string[]
  /** Depth of a shallow fetch. Defaults to the full history. */
  readonly depth?: number
  /** Omit file contents if the server supports filters. */
  readonly withoutBlobs?: boolean
}

/** The null id: `from` for a branch that must not exist yet, `to` for a branch to delete. */
export const noObject = '0'.repeat(40)

/** A client for git's protocol version 2, and for the original one with servers that do not support it. */
export class GitRemote {
  readonly #transport: GitTransport
  #session: Promise<Session> | undefined

  constructor(transport: GitTransport) {
    this.#transport = transport
  }

  /** The commits at the tips of these branches; missing branches are omitted. */
  async branches(...names: readonly string[]): Promise<Map<string, string>> {
    const session = await this.#open()
    const refs = session.refs ?? (await this.#listRefs(names))
    return new Map(
      names.flatMap((name) => (refs.has(`refs/heads/${name}`) ? [[name, refs.get(`refs/heads/${name}`)!]] : [])),
    )
  }

  /** Whether the server can omit file contents from a fetch. */
  async canFilter(): Promise<boolean> {
    const { version, capabilities } = await this.#open()
    return version === 2 && (capabilities.get('fetch') ?? '').split(' ').includes('filter')
  }

  /** Fetches the wanted objects and, depending on the request, what they refer to. */
  async fetch(request: FetchRequest): Promise<ObjectStore> {
    const { version, capabilities } = await this.#open()
    const body = version === 2 ? await this.#fetchBody(request) : originalFetchBody(request, capabilities)
    const answer = await this.#transport.request('git-upload-pack', body, version)
    return readPack(packOf(answer, version === 2 || capabilities.has('side-band-64k')))
  }

  /** Moves a branch from `from` to `to`. The server rejects the push if the tip is not `from`; returns its message. */
  async push(change: {
    readonly branch: string
    readonly from: string
    readonly to: string
    readonly objects: Iterable<GitObject>
  }): Promise<string | undefined> {
    const { capabilities } = readAdvertisement(await this.#transport.advertisement('git-receive-pack'))
    const { branch, from, to, objects } = change
    const features = [
      'report-status',
      ...(capabilities.has('object-format') ? ['object-format=sha1'] : []),
      'agent=sojourn',
    ]
    const command = packet(`${from} ${to} refs/heads/${branch}\0 ${features.join(' ')}`)
    const pack = to === noObject ? [] : [writePack(objects)]
    return refusalOf(await this.#transport.request('git-receive-pack', Buffer.concat([command, flush, ...pack]), 0))
  }

  close(): void {
    this.#transport.close()
  }

  #open(): Promise<Session> {
    this.#session ??= this.#transport.advertisement('git-upload-pack').then(readAdvertisement)
    return this.#session
  }

  /** `ls-refs` of protocol version 2. The server may return more refs than asked for. */
  async #listRefs(names: readonly string[]): Promise<Map<string, string>> {
    const lines = ['command=ls-refs\n', 'agent=sojourn\n', 'object-format=sha1\n']
    const prefixes = names.map((name) => packet(`ref-prefix refs/heads/${name}\n`))
    const body = Buffer.concat([...lines.map(packet), delimiter, ...prefixes, flush])
    const answer = await this.#transport.request('git-upload-pack', body, 2)
    const refs = new Map<string, string>()
    for (const line of linesOf(answer)) {
      const [id, name] = line.split(' ')
      if (id && name) refs.set(name, id)
    }
    return refs
  }

  /** A fetch command of protocol version 2 (gitprotocol-v2). */
  async #fetchBody({ wants, depth, withoutBlobs }: FetchRequest): Promise<Buffer> {
    const filter = withoutBlobs && (await this.canFilter()) ? [packet('filter blob:none\n')] : []
    return Buffer.concat([
      ...['command=fetch', 'agent=sojourn', 'object-format=sha1'].map(packet),
      delimiter,
      ...['no-progress\n', 'ofs-delta\n'].map(packet),
      ...(depth ? [packet(`deepen ${depth}\n`)] : []),
      ...filter,
      ...wants.map((want) => packet(`want ${want}\n`)),
      packet('done\n'),
      flush,
    ])
  }
}

/** The capabilities the server advertised. */
interface Session {
  readonly version: 0 | 2
  readonly capabilities: ReadonlyMap<string, string>
  /** Only the original protocol lists refs in its advertisement. */
  readonly refs: Map<string, string> | undefined
}

/** Reads the capabilities, and the refs if the server speaks the original protocol. */
function readAdvertisement(body: Buffer): Session {
  const content = linesOf(body).filter((line) => !line.startsWith('# service='))
  if (content.length === 0) throw new Error(incomplete)
  if (content[0] === 'version 2') return { version: 2, capabilities: capabilitiesOf(content.slice(1)), refs: undefined }
  const refs = new Map<string, string>()
  let capabilities: ReadonlyMap<string, string> = new Map()
  for (const line of content) {
    const [ref = '', features] = line.split('\0')
    if (features) capabilities = capabilitiesOf(features.trim().split(' '))
    const [id = '', name = ''] = ref.split(' ')
    if (name && id !== noObject) refs.set(name, id)
  }
  return { version: 0, capabilities, refs }
}

function capabilitiesOf(features: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    features.map((feature) => {
      const equals = feature.indexOf('=')
      return equals < 0 ? [feature, ''] : [feature.slice(0, equals), feature.slice(equals + 1)]
    }),
  )
}

/** A fetch request of the original protocol (gitprotocol-pack). */
function originalFetchBody({ wants, depth }: FetchRequest, capabilities: ReadonlyMap<string, string>): Buffer {
  const features = ['multi_ack_detailed', 'side-band-64k', 'ofs-delta', 'no-progress'].filter((name) =>
    capabilities.has(name),
  )
  return Buffer.concat([
    ...wants.map((want, index) => packet(`want ${want}${index === 0 ? ` ${features.join(' ')}` : ''}\n`)),
    ...(depth ? [packet(`deepen ${depth}\n`)] : []),
    flush,
    packet('done\n'),
  ])
}

/** Extracts the pack from a response: skips the sections before it and unwraps the side band. */
function packOf(answer: Buffer, hasSideBand: boolean): Buffer {
  const parts: Buffer[] = []
  for (const { packet: each, end } of packets(answer)) {
    if (typeof each === 'string') continue
    const text = each.line.toString('latin1', 0, 64)
    if (text.startsWith('ERR ')) throw permanent('RepositoryNotFound', 'the git server answered with an error')
    if (!hasSideBand && text.startsWith('NAK')) return answer.subarray(end)
    if (each.line[0] === 1) parts.push(each.line.subarray(1))
    if (each.line[0] === 3) throw new Error('the git server answered with an error')
  }
  return Buffer.concat(parts)
}

/** The rejection in a push report, undefined when the push succeeded. In our words: the server's text may come from anywhere. */
function refusalOf(answer: Buffer): string | undefined {
  const lines = [...packets(answer)].map(({ packet: each }) => textOf(each) ?? '')
  const unpack = lines.find((line) => line.startsWith('unpack '))
  if (unpack === undefined) return 'the git server did not report the result of the push'
  if (unpack !== 'unpack ok') return 'the git server could not unpack the objects'
  const refused = lines.find((line) => line.startsWith('ng '))
  return refused === undefined
    ? undefined
    : (refusals.find((text) => refused.includes(text)) ?? 'no known reason given')
}

/** Reasons that git servers give for a rejected push. */
const refusals = [
  'non-fast-forward',
  'fetch first',
  'stale info',
  'pre-receive hook declined',
  'update hook declined',
  'hook declined',
  'protected branch',
  'failed to update ref',
  'failed to lock',
  'deny updating',
  'push declined',
]

export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** A connection to the two git services of one repository, over HTTPS or SSH. */
export interface GitTransport {
  /** The service's capabilities and, in the original protocol, its refs. */
  advertisement(service: GitService): Promise<Buffer>
  /** Sends one request and returns the complete response. */
  request(service: GitService, request: Buffer, version: 0 | 2): Promise<Buffer>
  close(): void
}

/** Longer responses are aborted. */
export const maxResponseBytes = 512 * 1024 * 1024

/** A pkt-line of git's wire format: a line, or one of the three special packets. */
export type Packet = { readonly line: Buffer } | 'flush' | 'delimiter' | 'end'

export const flush = Buffer.from('0000')
export const delimiter = Buffer.from('0001')

/** Encodes a line with its length in front. */
export function packet(line: string): Buffer {
  const body = Buffer.from(line)
  return Buffer.concat([Buffer.from((body.length + 4).toString(16).padStart(4, '0')), body])
}

const incomplete = 'the git server sent an incomplete answer'

/** The lines of a whole message. One that a proxy has cut short would look like a repository without branches. */
function linesOf(message: Buffer): string[] {
  const all = [...packets(message)].map(({ packet: each }) => each)
  if (all.at(-1) !== 'flush') throw new Error(incomplete)
  return all.map(textOf).filter((line) => line !== undefined)
}

/** Reads the packets of a message. Throws on anything else. */
export function* packets(message: Buffer): Generator<{ readonly packet: Packet; readonly end: number }> {
  let position = 0
  while (position + 4 <= message.length) {
    const length = Number.parseInt(message.toString('latin1', position, position + 4), 16)
    if (Number.isNaN(length) || length === 3 || position + Math.max(length, 4) > message.length)
      throw new Error('the git server sent an invalid pkt-line')
    const start = position + 4
    position += Math.max(length, 4)
    if (length < 4) yield { packet: specialPackets[length]!, end: position }
    else yield { packet: { line: message.subarray(start, position) }, end: position }
  }
}

/** The end of the first section, including its flush packet; undefined while it is incomplete. */
export function sectionEnd(message: Buffer): number | undefined {
  let position = 0
  while (position + 4 <= message.length) {
    const length = Number.parseInt(message.toString('latin1', position, position + 4), 16)
    if (Number.isNaN(length)) throw new Error('the git server sent an invalid pkt-line')
    position += Math.max(length, 4)
    if (length === 0) return position
  }
  return undefined
}

/** The text of a packet without its line feed; undefined for a special packet. */
export function textOf(packet: Packet): string | undefined {
  return typeof packet === 'string' ? undefined : packet.line.toString('utf8').replace(/\n$/, '')
}

const specialPackets = ['flush', 'delimiter', 'end'] as const
