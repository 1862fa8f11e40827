import { compareHashes, fnv1a64, mixed, type Hash64 } from './fnv.ts'

/** Equal parts of the space of FNV-1a 64 hashes: the same for everyone, for good. */
export class Slots {
  readonly count: number
  /** Where each slot starts; the first starts at zero. */
  readonly #starts: readonly Hash64[]

  constructor(count: number) {
    if (!Number.isInteger(count) || count < 1 || count > 65_536) throw new RangeError(`${count} slots make no sense`)
    this.count = count
    this.#starts = Array.from({ length: count }, (_, slot) => halves(startOf(slot, count)))
  }

  slotOf(text: string): number {
    const hash = fnv1a64(text)
    let slot = Math.min(this.count - 1, Math.floor((hash.high / 2 ** 32) * this.count))
    while (slot + 1 < this.count && compareHashes(hash, this.#starts[slot + 1] as Hash64) >= 0) slot++
    while (slot > 0 && compareHashes(hash, this.#starts[slot] as Hash64) < 0) slot--
    return slot
  }

  /** The hashes of a slot, from the first to before the last; the end of the last slot is 2^64, written without it. */
  rangeOf(slot: number): { readonly from: string; readonly to: string | undefined } {
    const to = slot + 1 < this.count ? hex(startOf(slot + 1, this.count)) : undefined
    return { from: hex(startOf(slot, this.count)), to }
  }
}

/** Which member each slot belongs to: the one that scores highest for it. A member that comes or goes moves no other's slots. */
export function rendezvous(slot: number, members: readonly string[]): string | undefined {
  let best: string | undefined
  let bestScore = -1
  for (const member of members) {
    const score = mixed(`${slot}/${member}`)
    if (score > bestScore || (score === bestScore && member < (best ?? ''))) {
      best = member
      bestScore = score
    }
  }
  return best
}

function startOf(slot: number, count: number): bigint {
  const whole = 1n << 64n
  return (whole * BigInt(slot) + BigInt(count) - 1n) / BigInt(count)
}

function halves(value: bigint): Hash64 {
  return { high: Number(value >> 32n), low: Number(value & 0xffffffffn) }
}

function hex(value: bigint): string {
  return `0x${value.toString(16).padStart(16, '0')}`
}
