import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { deflateSync, inflateSync } from 'node:zlib'
import { idOf, type GitObject, type ObjectType } from './objects.ts'

/** Objects by id. */
export type ObjectStore = Map<string, GitObject>

/** Reads all objects of a pack and applies its deltas. Yields to the event loop in between. */
export async function readPack(pack: Buffer): Promise<ObjectStore> {
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.readUInt32BE(4) !== 2)
    throw new Error('the git server did not send a pack')
  const trailer = pack.subarray(pack.length - 20)
  const body = pack.subarray(0, pack.length - 20)
  if (!createHash('sha1').update(body).digest().equals(trailer))
    throw new Error('the pack is damaged: its checksum is wrong')
  const reader: Reader = { body, store: new Map(), byOffset: new Map(), waiting: [] }
  let position = 12
  for (let left = pack.readUInt32BE(8); left > 0; left--) {
    position = readEntry(reader, position)
    if (left % sliceSize === 0) await setImmediate()
  }
  resolveWaiting(reader)
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

/** Entries read between two yields to the event loop. */
const sliceSize = 500
const types: Readonly<Record<number, ObjectType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' }
const offsetDelta = 6
const idDelta = 7

interface Reader {
  readonly body: Buffer
  readonly store: ObjectStore
  readonly byOffset: Map<number, GitObject>
  /** Deltas that name their base by id; it may come later in the pack. */
  readonly waiting: { offset: number; base: string; delta: Buffer }[]
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
    const { content, end } = inflate(body, distance.end)
    const base = reader.byOffset.get(offset - distance.value)
    if (!base) throw new Error('a delta in the pack has no base')
    add(reader, offset, { type: base.type, content: applyDelta(base.content, content) })
    return end
  }
  if (kind === idDelta) {
    const base = body.toString('hex', position, position + 20)
    const { content, end } = inflate(body, position + 20)
    reader.waiting.push({ offset, base, delta: content })
    return end
  }
  const type = types[kind]
  if (!type) throw new Error(`the pack has an object of unknown type ${kind}`)
  const { content, end } = inflate(body, position)
  add(reader, offset, { type, content })
  return end
}

function add({ store, byOffset }: Reader, offset: number, object: GitObject): void {
  byOffset.set(offset, object)
  store.set(idOf(object), object)
}

/** Resolves deltas by id until none is left; each round needs the results of the one before. */
function resolveWaiting(reader: Reader): void {
  let left = reader.waiting
  while (left.length > 0) {
    const still = left.filter(({ offset, base, delta }) => {
      const object = reader.store.get(base)
      if (object) add(reader, offset, { type: object.type, content: applyDelta(object.content, delta) })
      return !object
    })
    if (still.length === left.length) throw new Error('a delta in the pack has no base')
    left = still
  }
}

/** Inflates one zlib stream and finds its end. */
function inflate(body: Buffer, start: number): { content: Buffer; end: number } {
  // A pack does not store compressed sizes; with `info` the engine reports how much input it has consumed.
  const { buffer, engine } = inflateSync(body.subarray(start), { info: true }) as unknown as {
    buffer: Buffer
    engine: { bytesWritten: number }
  }
  return { content: buffer, end: start + engine.bytesWritten }
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
  const result = Buffer.alloc(size())
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
    const length = number([0x10, 0x20, 0x40]) || 0x10000
    written += base.copy(result, written, from, from + length)
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
