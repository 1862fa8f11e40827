import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { Reader, shellBlocks } from './reader.ts'

const missing = await whyUnavailable('kubectl')
if (missing) console.warn(`SKIPPED: what the documentation says was NOT typed: ${missing}`)

/** What the first terminal does, or what this very test is part of. */
const isStart = (block: string) => /npm ci/.test(block)

describe.skipIf(missing).each(['README.md', 'docs/guide/first-hour.md'])('what %s says', (page) => {
  let reader: Reader
  beforeAll(async () => {
    reader = await Reader.begin()
  })
  afterAll(() => reader?.[Symbol.asyncDispose]())

  it.each(shellBlocks(page).filter(([, block]) => !isStart(block)))('“%s” can be typed and works', async (_, block) => {
    const { code, output } = await reader.types(block)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
  })
})
