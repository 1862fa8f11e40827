import { checkTree } from '../../parsing/check-tree.ts'
import { limits } from '../../parsing/limits.ts'
import { ParseRefusal } from '../../parsing/parse-refusal.ts'
import { unzip } from '../../parsing/unzip.ts'
import type { PageLine } from './pages.ts'

/** Reads the manifests of a page; throws ParseRefusal. Any user who may write Departures may have written it. */
export function read(manifests: string): readonly PageLine[] {
  const { bytes, unzippedBytes } = limits.departurePage
  if (manifests.length > bytes) throw new ParseRefusal('bytes', `the page is larger than ${bytes} bytes`)
  const text = unzip(Buffer.from(manifests, 'base64'), unzippedBytes).toString('utf8')
  const lines = text.split('\n').flatMap((line) => (line ? [readLine(line)] : []))
  checkTree(lines, { ...limits.departurePage, bytes: unzippedBytes })
  return lines
}

function readLine(line: string): PageLine {
  try {
    return JSON.parse(line) as PageLine
  } catch (error) {
    throw new ParseRefusal('syntax', `a line of the page is not JSON: ${(error as Error).message}`, { cause: error })
  }
}
