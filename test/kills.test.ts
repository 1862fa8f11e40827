import { expect, it } from 'vitest'
import { surviveKills } from './kills/survive-kills.ts'

/** `node bin/pinned-node.js bench/apiserver/kill.ts 100` does it a hundred times. */
it('loses no acknowledged write, repeats no revision and sends watchers every change once across kill -9', async () => {
  let seed = 7
  const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647
  const report = await surviveKills({ rounds: 3, random })
  expect(report.faults).toEqual([])
  expect(report.acknowledged).toBeGreaterThan(90)
  expect(report.events).toBeGreaterThanOrEqual(report.acknowledged)
}, 120_000)
