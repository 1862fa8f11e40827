import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Makes all files of a release once for the lane, by the script that the release workflow runs. */
export function setup(): void {
  const root = join(import.meta.dirname, '../..')
  execFileSync(process.execPath, ['scripts/release/main.ts'], { cwd: root, stdio: 'inherit' })
}
