// Tries what strangers may send for as long as you like: `npm run fuzz -- --minutes N [--seed S] [TARGET …]`.
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '1' }, seed: { type: 'string' } },
})
const names = positionals.length > 0 ? positionals : Object.keys(targets)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
const ms = (Number(values.minutes) * 60_000) / names.length
console.log(`seed ${seed}`)
let failures = 0
for (const name of names) {
  const { tried, failure } = await fuzz(name, { ms, seed })
  console.log(`${name}: ${tried} inputs${failure ? `, the last one kept as ${failure.file}` : ''}`)
  if (!failure) continue
  failures++
  console.error(failure.error)
}
process.exit(failures > 0 ? 1 : 0)
