import { expect, it } from 'vitest'
import { Turns } from './clock.ts'

/** A clock on which each turn of the event loop takes this long. */
function turnsOf(turnMs: number): { readonly turns: Turns; readonly resumed: string[][] } {
  let now = 0
  const resumed: string[][] = [[]]
  const clock = {
    now: () => now,
    after: () => () => {},
    breathe: () =>
      new Promise<void>((resolve) =>
        setImmediate(() => {
          now += turnMs
          resumed.push([])
          resolve()
        }),
      ),
  }
  return { turns: new Turns(clock), resumed }
}

it.each([
  ['few at a time', 1, [['big'], ['big', 'small', 'big', 'big', 'big', 'big', 'big', 'big'], ['big']]],
  ['one of each user, once turns are slow', 100, [['big'], ['big', 'small'], ['big'], ['big']]],
])('resumes requests %s, each user in turn', async (_, turnMs, expected) => {
  const { turns, resumed } = turnsOf(turnMs)
  const ask = (user: string) => turns.begin(user).then(() => resumed.at(-1)?.push(user))
  await Promise.all([...Array.from({ length: 9 }, () => ask('big')), ask('small')])
  expect(resumed.slice(0, expected.length)).toEqual(expected)
})

it('resumes a few reads of no user even while turns are slow', async () => {
  const { turns, resumed } = turnsOf(100)
  await Promise.all(Array.from({ length: 12 }, () => turns.next().then(() => resumed.at(-1)?.push('read'))))
  expect(resumed.map((each) => each.length).slice(0, 3)).toEqual([0, 8, 4])
})
