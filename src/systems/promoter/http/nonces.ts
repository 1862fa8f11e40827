/** Nonces used lately, each with what it was used for: the same request may come again, another one may not. */
export class Nonces {
  /** Oldest first. */
  readonly #used = new Map<string, { readonly signature: string; readonly at: number }>()

  /** Whether this use is the first or a repeat of the very same request. */
  accept(nonce: string, signature: string, now: number): boolean {
    for (const [old, { at }] of this.#used) {
      if (now - at < memoryMs && this.#used.size <= maxNonces) break
      this.#used.delete(old)
    }
    const known = this.#used.get(nonce)
    if (known) return known.signature === signature
    this.#used.set(nonce, { signature, at: now })
    return true
  }
}

const memoryMs = 600_000
const maxNonces = 10_000
