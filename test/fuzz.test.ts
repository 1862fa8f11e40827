import { describe, expect, it } from 'vitest'
import { fuzz } from './fuzz/fuzz.ts'
import { targets } from './fuzz/targets.ts'

/** A new one each day, so that rounds add up; `npm run fuzz -- --seed` repeats it. */
const seed = Math.floor(Date.now() / 86_400_000)
const roundMs = 5000

describe('a short round of fuzzing', () => {
  it.each(Object.keys(targets))(`finds nothing in %s (seed ${seed})`, async (name) => {
    const { failure } = await fuzz(name, { ms: roundMs, seed })
    expect(failure).toBeUndefined()
  })
})
