/** Recently used nonces with their signature. The same request may be repeated; another one may not reuse its nonce. */
export class Nonces {
  /** Oldest first. */
  readonly #used = new Map<string, { readonly signature: string; readonly at: number }>()

  /** Whether the nonce is new, or belongs to a repeat of the same request. */
  accept(nonce: string, signature: string, now: number): boolean {
    for (const [old, { at }] of this.#used) {
      if (now - at < retentionMs && this.#used.size <= maxNonces) break
      this.#used.delete(old)
    }
    const known = this.#used.get(nonce)
    if (known) return known.signature === signature
    this.#used.set(nonce, { signature, at: now })
    return true
  }
}

const retentionMs = 600_000
const maxNonces = 10_000
