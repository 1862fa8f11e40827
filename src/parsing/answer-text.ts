import { checkTree } from './check-tree.ts'
import { limits } from './limits.ts'
import { ParseRefusal } from './parse-refusal.ts'

/** Reads JSON that a server of others answered. Real answers have far fewer values for their length than hostile ones. */
export function read(bytes: Uint8Array): unknown {
  const nodes = Math.min(limits.answer.nodes, 1000 + bytes.length / 8)
  // Before anything is built of it: a thread that runs out of memory while it is ended takes the process along.
  if (countValues(bytes) > nodes) throw new ParseRefusal('nodes', `it has more than ${Math.floor(nodes)} values`)
  const value = valueOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  checkTree(value, limits.answer)
  return value
}

/** The values that the text has where it is JSON: each begins its list or object, or follows a comma. */
function countValues(bytes: Uint8Array): number {
  let count = 1
  let isInText = false
  let isAtStart = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (isInText) {
      if (byte === backslash) at++
      else isInText = byte !== quote
      continue
    }
    if (byte <= space) continue
    const isEmpty = isAtStart && (byte === closeList || byte === closeObject)
    isAtStart = byte === openList || byte === openObject
    isInText = byte === quote
    if (isAtStart || byte === comma) count++
    else if (isEmpty) count--
  }
  return count
}

const [quote, comma, openList, openObject, closeList, closeObject, backslash, space = 0] = Buffer.from('",[{]}\\ ')

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ParseRefusal('syntax', 'it is not JSON', { cause })
  }
}
