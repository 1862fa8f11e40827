import { gunzipSync } from 'node:zlib'
import { ParseRefusal } from './parse-refusal.ts'

/** Unzips at most this much. Blocks: for the parsing thread. */
export function unzip(bytes: Uint8Array, unzippedBytes: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: unzippedBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw new ParseRefusal('bytes', `it is larger than ${unzippedBytes} bytes when unzipped`, { cause: error })
    throw new ParseRefusal('syntax', `it cannot be unzipped: ${(error as Error).message}`, { cause: error })
  }
}
