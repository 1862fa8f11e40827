import { nanosecondsOf } from './moments.ts'

/** A value on its way: what it is now, and how much it grows while `time` grows by one. */
export interface Moving {
  readonly seconds: number
  readonly nanos: number
  readonly rate: number
}

/**
 * Collects, during one evaluation with a moving `time`, how long every answer that depended on it stays the same.
 * Until the shortest of these spans has passed, the same path would be taken and the same result found.
 */
export class Trace {
  /** Set when `time` went into something whose next change cannot be told. */
  isOpaque = false
  #seconds = Number.POSITIVE_INFINITY
  #nanos = 0

  /** Nanoseconds until the first answer changes; `undefined` when none ever does. Never less than one. */
  get span(): bigint | undefined {
    return Number.isFinite(this.#seconds) ? nanosecondsOf(this.#seconds, this.#nanos) : undefined
  }

  /** The answer to `a < b` was used. */
  less(a: Moving, b: Moving): void {
    const rate = a.rate - b.rate
    if (rate === 0) return
    const { seconds, nanos } = difference(a, b)
    const isLess = seconds < 0
    // Less stays less unless it rises to zero; not less stays so unless it falls below zero.
    if (isLess && rate > 0) this.#reach(negated({ seconds, nanos }), rate, false)
    else if (!isLess && rate < 0) this.#reach({ seconds, nanos }, -rate, true)
  }

  /** The answer to `a == b`, or the order of the two, was used. */
  order(a: Moving, b: Moving): void {
    const rate = a.rate - b.rate
    if (rate === 0) return
    const { seconds, nanos } = difference(a, b)
    if (seconds === 0 && nanos === 0) this.within(0, 1)
    else if (seconds < 0 && rate > 0) this.#reach(negated({ seconds, nanos }), rate, false)
    else if (seconds >= 0 && rate < 0) this.#reach({ seconds, nanos }, -rate, false)
  }

  /** An answer was used that holds while the moving value stays from `start` on and before `end` (nanoseconds). */
  staysWithin(value: Moving, start: bigint, end: bigint): void {
    const { rate } = value
    if (rate === 0) return
    const now = nanosecondsOf(value.seconds, value.nanos)
    const distance = rate > 0 ? end - now : now - start + 1n
    const speed = BigInt(Math.abs(rate))
    this.#withinNanoseconds((distance + speed - 1n) / speed)
  }

  /** An answer was used that may change after this span. */
  within(seconds: number, nanos: number): void {
    if (seconds < this.#seconds || (seconds === this.#seconds && nanos < this.#nanos)) {
      this.#seconds = seconds
      this.#nanos = nanos
    }
  }

  /** A distance is covered at this speed; `past` asks for the first instant beyond it. */
  #reach({ seconds, nanos }: Span, speed: number, past: boolean): void {
    if (speed === 1) {
      const isCarry = past && nanos === 999_999_999
      this.within(isCarry ? seconds + 1 : seconds, isCarry ? 0 : nanos + (past ? 1 : 0))
      return
    }
    const distance = nanosecondsOf(seconds, nanos)
    const wide = BigInt(speed)
    this.#withinNanoseconds(past ? distance / wide + 1n : (distance + wide - 1n) / wide)
  }

  #withinNanoseconds(span: bigint): void {
    const nanos = span % 1_000_000_000n
    this.within(Number((span - nanos) / 1_000_000_000n), Number(nanos))
  }
}

interface Span {
  readonly seconds: number
  readonly nanos: number
}

function difference(a: Span, b: Span): Span {
  const nanos = a.nanos - b.nanos
  return nanos < 0
    ? { seconds: a.seconds - b.seconds - 1, nanos: nanos + 1_000_000_000 }
    : { seconds: a.seconds - b.seconds, nanos }
}

function negated({ seconds, nanos }: Span): Span {
  return nanos === 0 ? { seconds: -seconds, nanos } : { seconds: -seconds - 1, nanos: 1_000_000_000 - nanos }
}
