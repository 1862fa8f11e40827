import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'

const algorithm = 'aes-256-gcm'
const [ivBytes, tagBytes] = [12, 16]
/** What a sealed text may inflate to. */
const maxBytes = 256 * 1024

/** Encrypts and authenticates values for one purpose, so that a value sealed for another one cannot be used. */
export class Seal {
  /** The first key seals, all of them open: keys can be rotated. */
  readonly #keys: readonly Buffer[]

  constructor(keys: readonly Buffer[]) {
    this.#keys = keys
  }

  seal(purpose: string, value: unknown): string {
    const [key] = this.#keys
    if (!key) throw new Error('no key to seal with')
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(purpose))
    const sealed = Buffer.concat([cipher.update(deflateRawSync(JSON.stringify(value))), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Undefined for a value that none of the keys sealed for this purpose. */
  open(purpose: string, text: string): unknown {
    const bytes = Buffer.from(text, 'base64url')
    for (const key of this.#keys) {
      try {
        const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
        const plain = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
        return JSON.parse(inflateRawSync(plain, { maxOutputLength: maxBytes }).toString('utf8'))
      } catch {
        // Sealed with another key, for another purpose, or not by this program.
      }
    }
    return undefined
  }
}
