/** Encodes the ASN.1 DER types that a certificate consists of. */
export const der = {
  sequence: (...parts: readonly Uint8Array[]) => tagged(0x30, Buffer.concat(parts)),
  set: (...parts: readonly Uint8Array[]) => tagged(0x31, Buffer.concat(parts)),
  integer: (bytes: Uint8Array) => tagged(0x02, unsigned(bytes)),
  boolean: (value: boolean) => tagged(0x01, Uint8Array.of(value ? 0xff : 0)),
  octets: (bytes: Uint8Array) => tagged(0x04, bytes),
  bits: (bytes: Uint8Array, unusedBits = 0) => tagged(0x03, Buffer.concat([Uint8Array.of(unusedBits), bytes])),
  utf8: (text: string) => tagged(0x0c, Buffer.from(text)),
  objectId: (dotted: string) => tagged(0x06, objectIdBytes(dotted)),
  /** `YYYYMMDDHHMMSSZ`. */
  generalizedTime: (text: string) => tagged(0x18, Buffer.from(text)),
  /** `YYMMDDHHMMSSZ`. */
  utcTime: (text: string) => tagged(0x17, Buffer.from(text)),
  explicit: (number: number, content: Uint8Array) => tagged(0xa0 + number, content),
  implicit: (number: number, content: Uint8Array) => tagged(0x80 + number, content),
}

function tagged(tag: number, content: Uint8Array): Buffer {
  return Buffer.concat([Uint8Array.of(tag), length(content.length), content])
}

function length(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value)
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Uint8Array.of(0x80 + bytes.length, ...bytes)
}

/** DER integers are signed: a leading zero byte keeps a set high bit from meaning "negative". */
function unsigned(bytes: Uint8Array): Uint8Array {
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Uint8Array.of(0), bytes]) : bytes
}

function objectIdBytes(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return Uint8Array.from([first * 40 + second, ...rest.flatMap(base128)])
}

function base128(value: number): number[] {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift((rest % 128) + 128)
  return bytes
}
