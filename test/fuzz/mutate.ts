/** A deterministic source of numbers in [0, 1) (mulberry32): the same seed tries the same inputs. */
export function seeded(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const most = 64 * 1024

/** One of the inputs, changed in a few places: bytes flipped, parts repeated, removed, or taken from another input. */
export function mutate(corpus: readonly Buffer[], random: () => number): Buffer {
  const below = (limit: number) => Math.floor(random() * limit)
  const pick = () => corpus[below(corpus.length)] ?? Buffer.alloc(0)
  let bytes: Buffer = Buffer.from(pick())
  for (let changes = 1 + below(6); changes > 0; changes--) {
    const at = below(bytes.length + 1)
    const length = below(Math.min(64, bytes.length - at + 1))
    const part = bytes.subarray(at, at + length)
    switch (below(5)) {
      case 0:
        if (at < bytes.length) bytes[at] = below(256)
        break
      case 1:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
        break
      case 2:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          ...Array.from({ length: below(200) }, () => part),
          bytes.subarray(at),
        ])
        break
      case 3: {
        const other = pick()
        const from = below(other.length + 1)
        bytes = Buffer.concat([bytes.subarray(0, at), other.subarray(from, from + below(200)), bytes.subarray(at)])
        break
      }
      default:
        bytes = bytes.subarray(0, Math.max(at, 1))
    }
  }
  return bytes.subarray(0, most)
}
