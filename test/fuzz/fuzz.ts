import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mutate, seeded } from './mutate.ts'
import { targets } from './targets.ts'

const corpusFolder = join(import.meta.dirname, 'corpus')

/** No single input may take longer. */
const mostMs = 5000

export interface FuzzResult {
  readonly tried: number
  /** The first input that did what it must not, which is now in the corpus; undefined when there was none. */
  readonly failure: { readonly file: string; readonly error: Error } | undefined
}

/** Tries the corpus of a target, then changes of it, for this long. */
export async function fuzz(
  name: string,
  { ms, seed }: { readonly ms: number; readonly seed: number },
): Promise<FuzzResult> {
  const start = targets[name]
  if (!start) throw new Error(`there is no target "${name}"; there are ${Object.keys(targets).join(', ')}`)
  const folder = join(corpusFolder, name)
  const corpus = readdirSync(folder).map((file) => readFileSync(join(folder, file)))
  const random = seeded(seed)
  await using target = await start()
  const endMs = performance.now() + ms
  let tried = 0
  while (tried < corpus.length || performance.now() < endMs) {
    const input = corpus[tried] ?? mutate(corpus, random)
    tried++
    const startedMs = performance.now()
    try {
      await target.try(input)
      const tookMs = performance.now() - startedMs
      if (tookMs > mostMs) throw new Error(`it took ${Math.round(tookMs)} ms`)
    } catch (error) {
      return { tried, failure: { file: keep(folder, input), error: error as Error } }
    }
  }
  return { tried, failure: undefined }
}

function keep(folder: string, input: Buffer): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `found-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`)
  writeFileSync(file, input)
  return file
}
