/** A pkt-line of git's wire format: a line, or one of the three special packets. */
export type Packet = { readonly line: Buffer } | 'flush' | 'delimiter' | 'end'

export const flush = Buffer.from('0000')
export const delimiter = Buffer.from('0001')

/** Encodes a line with its length in front. */
export function packet(line: string): Buffer {
  const body = Buffer.from(line)
  return Buffer.concat([Buffer.from((body.length + 4).toString(16).padStart(4, '0')), body])
}

/** Reads the packets of a message. Throws on anything else. */
export function* packets(message: Buffer): Generator<{ readonly packet: Packet; readonly end: number }> {
  let position = 0
  while (position + 4 <= message.length) {
    const length = Number.parseInt(message.toString('latin1', position, position + 4), 16)
    if (Number.isNaN(length) || length === 3 || position + Math.max(length, 4) > message.length)
      throw new Error('the git server sent an invalid pkt-line')
    const start = position + 4
    position += Math.max(length, 4)
    if (length < 4) yield { packet: specialPackets[length]!, end: position }
    else yield { packet: { line: message.subarray(start, position) }, end: position }
  }
}

/** The end of the first section, including its flush packet; undefined while it is incomplete. */
export function sectionEnd(message: Buffer): number | undefined {
  let position = 0
  while (position + 4 <= message.length) {
    const length = Number.parseInt(message.toString('latin1', position, position + 4), 16)
    if (Number.isNaN(length)) throw new Error('the git server sent an invalid pkt-line')
    position += Math.max(length, 4)
    if (length === 0) return position
  }
  return undefined
}

/** The text of a packet without its line feed; undefined for a special packet. */
export function textOf(packet: Packet): string | undefined {
  return typeof packet === 'string' ? undefined : packet.line.toString('utf8').replace(/\n$/, '')
}

const specialPackets = ['flush', 'delimiter', 'end'] as const
