import { afterAll, describe, expect, it } from 'vitest'
import { ParsingThread } from './parsing-thread.ts'

const entry = new URL('../../test/parsing/echo-thread.ts', import.meta.url)
const thread = new ParsingThread(entry)
afterAll(() => thread.close())

const read = (input: unknown, more: { timeMs?: number; user?: string } = {}) =>
  thread.read({ reader: 'echo', input, timeMs: 1000, ...more })

describe('the parsing thread', () => {
  it('returns what the module reads', async () => {
    expect(await read({ say: [1, 'a', null] })).toEqual([1, 'a', null])
  })

  it('keeps __proto__ and constructor as plain keys', async () => {
    const value = (await read({ parse: '{"__proto__": "a", "constructor": "b"}' })) as object
    expect(Object.entries(value)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
  })

  it('refuses what takes too much processor time, and goes on', async () => {
    await expect(read({ do: 'spin' }, { timeMs: 50 })).rejects.toMatchObject({ because: 'time' })
    expect(await read({ say: 1 })).toBe(1)
  })

  it('does not count the time in which the thread had no processor', async () => {
    expect(await read({ do: 'sleep', ms: 200 }, { timeMs: 100 })).toBe('slept')
  })

  it('96: refuses what takes too much memory, and lives', async () => {
    await expect(read({ do: 'hoard' }, { timeMs: 20_000 })).rejects.toMatchObject({ because: 'memory' })
    expect(await read({ say: 1 })).toBe(1)
  })

  it('96: starts another thread when it was killed in the middle', async () => {
    const spinning = expect(read({ do: 'spin' }, { timeMs: 20_000 })).rejects.toMatchObject({
      because: 'lost',
      isFinal: false,
    })
    const next = read({ say: 2 })
    await thread.close()
    await spinning
    expect(await next).toBe(2)
  })

  it('96: starts another thread when its module ends it', async () => {
    await expect(read({ do: 'exit' })).rejects.toMatchObject({ because: 'lost' })
    expect(await read({ say: 3 })).toBe(3)
  })

  it('takes four texts of one user at a time, and those of others', async () => {
    const own = Array.from({ length: 4 }, () => read({ say: 1 }, { user: 'eve' }))
    await expect(read({ say: 1 }, { user: 'eve' })).rejects.toMatchObject({ reason: 'TooManyRequests' })
    expect(await read({ say: 'mine' }, { user: 'bob' })).toBe('mine')
    expect(await Promise.all(own)).toEqual([1, 1, 1, 1])
    expect(await read({ say: 'again' }, { user: 'eve' })).toBe('again')
  })

  it('keeps 32 texts of users waiting, and all of our own', async () => {
    const sent = Array.from({ length: 32 }, (_, index) => read({ say: index }, { user: `user-${index % 8}` }))
    await expect(read({ say: 1 }, { user: 'another' })).rejects.toMatchObject({ reason: 'TooManyRequests' })
    expect(await read({ say: 'own' })).toBe('own')
    expect(await Promise.all(sent)).toEqual(Array.from({ length: 32 }, (_, index) => index))
  })

  it('says when a module is at fault', async () => {
    await expect(read({ do: 'fail' })).rejects.toThrow('reading a text failed: TypeError')
  })
})
