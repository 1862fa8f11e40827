import { systemClock } from '../../src/runtime/clock.ts'
import { surviveKills } from '../../src/apiserver/store/survive-kills.ts'

/** `kill -9` under write load, as often as asked: `node bin/pinned-node.js bench/apiserver/kill.ts 100`. */
const rounds = Number(process.argv[2] ?? 100)
const report = await surviveKills({ node: process.execPath, rounds, clock: systemClock, random: Math.random })
for (const fault of report.faults) console.error(fault)
console.log(
  `${rounds} kills: ${report.acknowledged} names acknowledged, ${report.events} events replayed, ${report.faults.length} faults`,
)
process.exitCode = report.faults.length > 0 ? 1 : 0
