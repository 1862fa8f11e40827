const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const maxLineBytes = 107
const maxBinaryBytes = 4096
const line = /^PROXY (?:UNKNOWN(?: [^\r\n]*)?|(TCP4|TCP6) ([0-9a-fA-F:.]+) [0-9a-fA-F:.]+ [0-9]{1,5} [0-9]{1,5})\r\n/

/** A parsed PROXY header: its length, and the client's address if it has one. */
export interface Preamble {
  readonly length: number
  readonly address: string | undefined
}

/** Reads the PROXY protocol header, in text or binary form, that a load balancer puts in front of a connection. */
export function readPreamble(bytes: Buffer): Preamble | 'incomplete' | 'malformed' {
  const compared = Math.min(bytes.length, signature.length)
  if (bytes.subarray(0, compared).equals(signature.subarray(0, compared))) {
    return bytes.length < 16 ? 'incomplete' : binary(bytes)
  }
  const text = bytes.toString('latin1', 0, maxLineBytes)
  const found = line.exec(text)
  if (found) return { length: found[0].length, address: found[2] }
  const start = 'PROXY '.slice(0, text.length)
  return text.startsWith(start) && !text.includes('\n') && text.length < maxLineBytes ? 'incomplete' : 'malformed'
}

function binary(bytes: Buffer): Preamble | 'incomplete' | 'malformed' {
  const version = bytes[12]! >> 4
  const command = bytes[12]! & 15
  const length = 16 + bytes.readUInt16BE(14)
  if (version !== 2 || command > 1 || length > maxBinaryBytes) return 'malformed'
  if (bytes.length < length) return 'incomplete'
  // LOCAL: the connection is the balancer's own, such as a health check.
  if (command === 0) return { length, address: undefined }
  const family = bytes[13]! >> 4
  if (family === 1 && length >= 28) return { length, address: [...bytes.subarray(16, 20)].join('.') }
  if (family === 2 && length >= 52) return { length, address: ipv6(bytes.subarray(16, 32)) }
  return { length, address: undefined }
}

function ipv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(i * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1)
}
