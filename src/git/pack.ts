import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { deflateSync, inflateSync } from 'node:zlib'
import { limits, packObjectBytes } from '../parsing/limits.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { idOf, type GitObject, type ObjectType } from './objects.ts'

/** Objects by id. */
export type ObjectStore = Map<string, GitObject>

/** Reads all objects of a pack and applies its deltas. Yields to the event loop in between. */
export async function readPack(pack: Buffer): Promise<ObjectStore> {
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.readUInt32BE(4) !== 2)
    throw new Error('the git server did not send a pack')
  if (pack.length > gitPack.bytes) throw new ParseRefusal('bytes', `the pack is larger than ${gitPack.bytes} bytes`)
  const count = pack.readUInt32BE(8)
  if (count > gitPack.nodes) throw new ParseRefusal('nodes', `the pack has more than ${gitPack.nodes} objects`)
  const trailer = pack.subarray(pack.length - 20)
  const body = pack.subarray(0, pack.length - 20)
  if (!createHash('sha1').update(body).digest().equals(trailer))
    throw new Error('the pack is damaged: its checksum is wrong')
  const reader: Reader = {
    body,
    store: new Map(),
    byOffset: new Map(),
    depths: new Map(),
    waiting: [],
    bytesLeft: gitPack.unzippedBytes,
  }
  let position = 12
  let bytesAtYield = reader.bytesLeft
  for (let left = count; left > 0; left--) {
    position = readEntry(reader, position)
    if (left % sliceSize !== 0 && bytesAtYield - reader.bytesLeft < sliceBytes) continue
    bytesAtYield = reader.bytesLeft
    await setImmediate()
  }
  await resolveWaiting(reader)
  return reader.store
}

/** Writes a pack without deltas: the promoter pushes few and small objects. */
export function writePack(objects: Iterable<GitObject>): Buffer {
  const list = [...objects]
  const header = Buffer.alloc(12)
  header.write('PACK', 'latin1')
  header.writeUInt32BE(2, 4)
  header.writeUInt32BE(list.length, 8)
  const body = Buffer.concat([
    header,
    ...list.flatMap(({ type, content }) => [entryHeader(type, content.length), deflateSync(content)]),
  ])
  return Buffer.concat([body, createHash('sha1').update(body).digest()])
}

const { gitPack } = limits
/** Entries read between two yields to the event loop, and how much they may hold. */
const sliceSize = 500
const sliceBytes = 1024 * 1024
const types: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' }
const offsetDelta = 6
const idDelta = 7

interface Reader {
  readonly body: Buffer
  readonly store: ObjectStore
  readonly byOffset: Map<number, GitObject>
  /** How many deltas an object is made of, where there are any. */
  readonly depths: Map<GitObject, number>
  /** Deltas that name their base by id; it may come later in the pack. */
  readonly waiting: { offset: number; base: string; delta: Buffer }[]
  bytesLeft: number
}

/** Reads the entry at an offset and returns the offset of the next one. */
function readEntry(reader: Reader, offset: number): number {
  const { body } = reader
  let position = offset
  let byte = body[position++] ?? 0
  const kind = (byte >> 4) & 7
  while (byte & 0x80) byte = body[position++] ?? 0
  if (kind === offsetDelta) {
    const distance = readDistance(body, position)
    const { content, end } = inflate(reader, distance.end)
    const base = reader.byOffset.get(offset - distance.value)
    if (!base) throw new Error('a delta in the pack has no base')
    addDelta(reader, offset, { base, delta: content })
    return end
  }
  if (kind === idDelta) {
    const base = body.toString('hex', position, position + 20)
    const { content, end } = inflate(reader, position + 20)
    reader.waiting.push({ offset, base, delta: content })
    return end
  }
  const type = types[kind]
  if (!type) throw new Error(`the pack has an object of unknown type ${kind}`)
  const { content, end } = inflate(reader, position)
  add(reader, offset, { type, content })
  return end
}

/** Adds the object that a delta makes of its base. */
function addDelta(reader: Reader, offset: number, { base, delta }: { base: GitObject; delta: Buffer }): void {
  const depth = (reader.depths.get(base) ?? 0) + 1
  if (depth > gitPack.depth) throw new ParseRefusal('depth', `the pack has more than ${gitPack.depth} deltas in a row`)
  const object = { type: base.type, content: applyDelta(base.content, delta) }
  spend(reader, object.content.length)
  reader.depths.set(object, depth)
  add(reader, offset, object)
}

/** Deltas make large objects of small packs. */
function spend(reader: Reader, bytes: number): void {
  reader.bytesLeft -= bytes
  if (reader.bytesLeft < 0)
    throw new ParseRefusal('bytes', `the objects of the pack are larger than ${gitPack.unzippedBytes} bytes`)
}

function add({ store, byOffset }: Reader, offset: number, object: GitObject): void {
  byOffset.set(offset, object)
  store.set(idOf(object), object)
}

/** Resolves deltas by id until none is left; each round needs the results of the one before. */
async function resolveWaiting(reader: Reader): Promise<void> {
  let left = reader.waiting
  while (left.length > 0) {
    const still = left.filter(({ offset, base, delta }) => {
      const object = reader.store.get(base)
      if (object) addDelta(reader, offset, { base: object, delta })
      return !object
    })
    await setImmediate()
    if (still.length === left.length) throw new Error('a delta in the pack has no base')
    left = still
  }
}

/** Inflates one zlib stream and finds its end. */
function inflate(reader: Reader, start: number): { content: Buffer; end: number } {
  // A pack does not store compressed sizes; with `info` the engine reports how much input it has consumed.
  const { buffer, engine } = inflated(reader.body.subarray(start))
  spend(reader, buffer.length)
  return { content: buffer, end: start + engine.bytesWritten }
}

function inflated(bytes: Buffer): { buffer: Buffer; engine: { bytesWritten: number } } {
  try {
    return inflateSync(bytes, { info: true, maxOutputLength: packObjectBytes }) as unknown as ReturnType<
      typeof inflated
    >
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE') throw error
    throw new ParseRefusal('bytes', `an object of the pack is larger than ${packObjectBytes} bytes`, { cause: error })
  }
}

/** The offset encoding of ofs-delta (gitformat-pack). */
function readDistance(body: Buffer, start: number): { value: number; end: number } {
  let position = start
  let byte = body[position++] ?? 0
  let value = byte & 0x7f
  while (byte & 0x80) {
    byte = body[position++] ?? 0
    value = (value + 1) * 128 + (byte & 0x7f)
  }
  return { value, end: position }
}

/** Applies copy and insert instructions (gitformat-pack, "Deltified representation"). */
function applyDelta(base: Buffer, delta: Buffer): Buffer {
  let position = 0
  const size = () => {
    let value = 0
    let factor = 1
    let byte
    do {
      byte = delta[position++] ?? 0
      value += (byte & 0x7f) * factor
      factor *= 128
    } while (byte & 0x80)
    return value
  }
  if (size() !== base.length) throw new Error('a delta in the pack does not fit its base')
  const length = size()
  if (length > packObjectBytes)
    throw new ParseRefusal('bytes', `an object of the pack is larger than ${packObjectBytes} bytes`)
  const result = Buffer.alloc(length)
  let written = 0
  while (position < delta.length) {
    const instruction = delta[position++] ?? 0
    if (!(instruction & 0x80)) {
      written += delta.copy(result, written, position, position + instruction)
      position += instruction
      continue
    }
    const number = (bits: readonly number[]) =>
      bits.reduce(
        (value, bit, index) => (instruction & bit ? value + (delta[position++] ?? 0) * 256 ** index : value),
        0,
      )
    const from = number([0x01, 0x02, 0x04, 0x08])
    const copied = number([0x10, 0x20, 0x40]) || 0x10000
    written += base.copy(result, written, from, from + copied)
  }
  if (written !== result.length) throw new Error('the pack has an invalid delta')
  return result
}

/** Type and size of an entry: four bits of the size first, then seven per byte. */
function entryHeader(type: ObjectType, size: number): Buffer {
  const kind = Number(Object.entries(types).find(([, name]) => name === type)?.[0])
  const bytes = [(kind << 4) | (size & 0x0f)]
  let rest = Math.floor(size / 16)
  while (rest > 0) {
    bytes[bytes.length - 1]! |= 0x80
    bytes.push(rest & 0x7f)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from(bytes)
}
