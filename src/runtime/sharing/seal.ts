import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'

const algorithm = 'aes-256-gcm'
const [ivBytes, tagBytes] = [12, 16]
/** Encrypts and authenticates values for one purpose, so that a value sealed for another one cannot be used. */
export class Seal {
  readonly #key: Buffer
  readonly #maxBytes: number

  /** `maxBytes`: what a sealed text may inflate to. */
  constructor(key: Buffer, maxBytes = 256 * 1024) {
    this.#key = key
    this.#maxBytes = maxBytes
  }

  seal(purpose: string, value: unknown): string {
    const iv = randomBytes(ivBytes)
    const cipher = createCipheriv(algorithm, this.#key, iv).setAAD(Buffer.from(purpose))
    const sealed = Buffer.concat([cipher.update(deflateRawSync(JSON.stringify(value))), cipher.final()])
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
  }

  /** Undefined for a value that another key sealed, or this one for another purpose. */
  open(purpose: string, text: string): unknown {
    const bytes = Buffer.from(text, 'base64url')
    try {
      const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes })
      decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      const plain = Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()])
      return JSON.parse(inflateRawSync(plain, { maxOutputLength: this.#maxBytes }).toString('utf8'))
    } catch {
      return undefined
    }
  }
}
