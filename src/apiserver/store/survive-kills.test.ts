import { expect, it } from 'vitest'
import { surviveKills } from '../../../test/apiserver/survive-kills.ts'
import { SetClock } from '../../../test/apiserver/test-stores.ts'

it('keeps every acknowledged write and every published event over kill -9', async () => {
  let seed = 7
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647
  const report = await surviveKills({ node: process.execPath, rounds: 3, clock: new SetClock(), random })
  expect(report.faults).toEqual([])
  expect(report.acknowledged).toBeGreaterThan(0)
  expect(report.events).toBeGreaterThanOrEqual(report.acknowledged)
})
