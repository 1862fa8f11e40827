import { checkTree } from '../parsing/check-tree.ts'
import { limits } from '../parsing/limits.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'

/** Reads the JSON of a forge, which may be a tenant's own server. Real answers have far fewer values for their length. */
export function read(bytes: Uint8Array): unknown {
  const value = valueOf(Buffer.from(bytes).toString('utf8'))
  checkTree(value, { ...limits.forgeAnswer, nodes: 1000 + bytes.length / 8 })
  return value
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ParseRefusal('syntax', 'it is not JSON', { cause })
  }
}
