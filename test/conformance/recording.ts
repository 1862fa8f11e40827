import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inOrder } from './normalise.ts'
import type { Line } from './transcript.ts'

/** What a real kube-apiserver answered, by scenario. */
export type Recording = Readonly<Record<string, readonly Line[]>>

export const recordingPath = join(import.meta.dirname, 'recorded.json')

/** The committed answers of the real server. */
export function readRecording(): Recording {
  const recording = JSON.parse(readFileSync(recordingPath, 'utf8')) as Recording
  return Object.fromEntries(
    Object.entries(recording).map(([name, lines]) => [
      name,
      lines.map((line) => ({ ...line, body: inOrder(line.body) })),
    ]),
  )
}

/**
 * What ours should answer where the real server answered this. It fails with 500 on some bad input, which is a fault of the
 * sender: the words stay, the code becomes 400.
 */
export function expectedOf(line: Line): Line {
  const body = line.body as { reason?: string } | undefined
  if (line.status !== 500 || body?.reason !== undefined) return line
  return { ...line, status: 400, body: { ...body, code: 400, reason: 'BadRequest' } }
}
