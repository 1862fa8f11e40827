import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aroundOf } from './examples/around.ts'
import { exampleNames, readExample } from './examples/example.ts'
import { play } from './examples/play.ts'
import { realStage, virtualStage } from './examples/stage.ts'

describe('examples', () => {
  it.for(exampleNames())('%s does what it says', { timeout: 300_000 }, async (name, { skip }) => {
    expect(existsSync(resolve(import.meta.dirname, '../examples', name, 'README.md')), 'it has a README').toBe(true)
    const around = await aroundOf(name)
    if (typeof around === 'string') return skip(`SKIPPED: ${name} was NOT played: ${around}`)
    await using standing = around
    const example = readExample(name, around?.instead)
    await using stage = await (example.isReal ? realStage() : virtualStage())
    await play(example, stage, standing)
  })

  it('are numbered, the last one being all at once', () => {
    const names = exampleNames()
    expect(names.length).toBeGreaterThan(8)
    for (const name of names) expect(name).toMatch(/^\d\d-[a-z-]+$/)
    expect(names.at(-1)).toBe('99-all-at-once')
  })

  it('fail when an outcome differs', async () => {
    const example = readExample('01-expiring-configmap')
    const settings = example.manifests.filter(({ kind }) => kind === 'ConfigMap')
    await using stage = await virtualStage()
    await expect(play({ ...example, steps: [{ at: '1s', gone: settings }] }, stage)).rejects.toThrow('is gone')
  })
})
