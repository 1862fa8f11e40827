/** A 64-bit hash as two unsigned halves. */
export interface Hash64 {
  readonly high: number
  readonly low: number
}

const primeLow = 0x1b3

/** FNV-1a, 64 bits, over the text's UTF-8 bytes: the hash the API server shards by. */
export function fnv1a64(text: string): Hash64 {
  let high = 0xcbf29ce4
  let low = 0x84222325
  for (const byte of encoder.encode(text)) {
    low = (low ^ byte) >>> 0
    // The prime is 2^40 + 0x1b3: the low half's product carries into the high one, its shift by 40 lands there whole.
    const product = low * primeLow
    high = (high * primeLow + Math.floor(product / 2 ** 32) + ((low << 8) >>> 0)) % 2 ** 32
    low = product % 2 ** 32
  }
  return { high, low }
}

/** Compares as unsigned 64-bit numbers. */
export function compareHashes(left: Hash64, right: Hash64): number {
  return left.high - right.high || left.low - right.low
}

/** A hash whose every bit depends on every byte, unlike FNV's last ones: for scores that must not be alike. */
export function mixed(text: string): number {
  const { high, low } = fnv1a64(text)
  return (mix32(high) * 2 ** 20 + (mix32(low ^ mix32(high)) >>> 12)) / 2 ** 52
}

const encoder = new TextEncoder()

function mix32(value: number): number {
  let bits = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
