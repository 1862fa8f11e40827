// npm run test:all [-- --ci] [LANE …]: runs the lanes one after the other, goes on when one fails, and prints one table.
import { spawnSync } from 'node:child_process'
import { lanes, type Lane } from './lanes.ts'

const words = process.argv.slice(2)
const named = words.filter((word) => !word.startsWith('--'))
const isChosen = ({ script, isInCi }: Lane) =>
  named.length > 0 ? named.includes(script) : isInCi || !words.includes('--ci')

const rows = lanes.filter(isChosen).map((lane) => {
  console.log(`\n=== npm run ${lane.script}${lane.needs ? ` (needs ${lane.needs})` : ''}`)
  const startedAt = Date.now()
  // A value that is set already wins, so that a longer run can be asked for.
  const env = { ...lane.env, ...process.env }
  const { status } = spawnSync('npm', ['run', '--silent', lane.script], { stdio: 'inherit', env })
  return {
    lane: lane.script,
    result: status === 0 ? 'passed' : `failed (${status})`,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  }
})

console.table(rows)
const failed = rows.filter(({ result }) => result !== 'passed').length
console.log(`lanes: ${rows.length - failed} passed, ${failed} failed`)
process.exitCode = rows.length === 0 || failed > 0 ? 1 : 0
