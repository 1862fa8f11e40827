/** The byte classes of RFC 9110 and 9112, as tables: one load per byte. NUL is in none of them, so it ends every scan. */
export const isTokenByte = classOf("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

/** What a request target may consist of: visible ASCII, nothing else. */
export const isTargetByte = range(0x21, 0x7e)

/** What a field value may consist of: visible ASCII, obs-text, space and tab. */
export const isValueByte = range(0x20, 0xff)
isValueByte[0x7f] = 0
isValueByte[0x09] = 1

export const CR = 13
export const LF = 10
export const SP = 32
export const HTAB = 9
export const COLON = 58

/** The value of a hexadecimal digit, or -1. */
export const hexValue = new Int8Array(256).fill(-1)
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16)
  hexValue[digit.charCodeAt(0)] = value
  hexValue[digit.toUpperCase().charCodeAt(0)] = value
}

/** Whether the bytes from `start` spell `lowered`, a lower-case word, in any case. */
export function spells(bytes: Uint8Array, start: number, lowered: Uint8Array): boolean {
  for (let i = 0; i < lowered.length; i++) {
    const byte = bytes[start + i]!
    if ((byte >= 65 && byte <= 90 ? byte | 32 : byte) !== lowered[i]) return false
  }
  return true
}

/** A lower-case word as bytes, for `spells`. */
export function word(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'latin1'))
}

function classOf(members: string): Uint8Array {
  const table = new Uint8Array(256)
  for (const member of members) table[member.charCodeAt(0)] = 1
  return table
}

function range(from: number, to: number): Uint8Array {
  return new Uint8Array(256).fill(1, from, to + 1)
}
