import { read } from './answer-text.ts'
import { limits } from './limits.ts'
import { parsingThread } from './parsing-thread.ts'

/** Longer answers are read in the parsing thread. */
export const maxAnswerHere = 64 * 1024

/** Reads the JSON that a server of others answered, which may be a tenant's own. Throws ParseRefusal. */
export async function readAnswer<T>(body: Uint8Array): Promise<T> {
  const { timeMs } = limits.answer
  const value =
    body.length <= maxAnswerHere ? read(body) : await parsingThread.read({ reader: 'answer', input: body, timeMs })
  return value as T
}
