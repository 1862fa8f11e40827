import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Each measurement in a process of its own, so that none finds what another left behind. The slow one is left to `measure-ledger-store.ts`. */
const failed = ['judge.ts', 'measure-live.ts', 'ledger.ts'].filter((file) => {
  console.log(`\n${file}`)
  return spawnSync(process.execPath, [join(import.meta.dirname, file)], { stdio: 'inherit' }).status !== 0
})
process.exit(failed.length === 0 ? 0 : 1)
