import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

/** Builds package and executable once for the lane. */
export function setup(): void {
  const root = join(import.meta.dirname, '../..')
  execFileSync(process.execPath, ['scripts/build/main.ts', '--binary'], { cwd: root, stdio: 'inherit' })
}
