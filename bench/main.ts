import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Every benchmark, one after the other, each side by side with its peers; `npm run bench -- cel runtime` runs only those. */
const all = [
  'runtime',
  'cel',
  'apiserver',
  'parsing',
  'collector',
  'activator',
  'promoter',
  'janitor',
  'cleaner',
  'environments',
  'dashboard',
  'forecast',
]
const wanted = process.argv.slice(2)
const unknown = wanted.find((name) => !all.includes(name))
if (unknown !== undefined) {
  console.error(`there is no benchmark "${unknown}"; there are ${all.join(', ')}`)
  process.exit(2)
}

let failures = 0
for (const name of wanted.length > 0 ? wanted : all) {
  const main = join(import.meta.dirname, name, 'main.ts')
  console.log(`\n## ${name}`)
  const { status } = spawnSync(process.execPath, ['--expose-gc', '--max-old-space-size=8000', main], {
    stdio: 'inherit',
  })
  if (status !== 0) failures++
}
process.exit(failures > 0 ? 1 : 0)
