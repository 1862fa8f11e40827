import { surviveKills } from '../../test/kills/survive-kills.ts'

/** `kill -9` of a server under write load over HTTPS, as often as asked: `node bin/pinned-node.js bench/apiserver/kill.ts 100`. */
const rounds = Number(process.argv[2] ?? 100)
const startedAt = performance.now()
const report = await surviveKills({ rounds, random: Math.random })
for (const fault of report.faults) console.error(fault)
console.log(
  `${rounds} kills in ${Math.round((performance.now() - startedAt) / 1000)} s: ${report.acknowledged} writes acknowledged, ` +
    `${report.events} events told to each of 8 watchers, ${report.faults.length} faults`,
)
process.exitCode = report.faults.length > 0 ? 1 : 0
