import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clusterRoles } from '../../src/app/install/rbac.ts'
import { compare, type Asked } from './compare.ts'

/**
 * Runs every case of the systems, and compares what their code asked for with what the chart and `sojourn install` grant: a change
 * that would be refused is a fault. Among the cases is one for each role on a real kube-apiserver, where every right that it has
 * must be used: see least-privilege.test.ts.
 */
const directory = mkdtempSync(join(tmpdir(), 'sojourn-access-'))
const log = process.env['ACCESS_LOG'] ?? join(directory, 'asked')
const root = join(import.meta.dirname, '../..')
const isRecorded = existsSync(log)
const { status } = isRecorded
  ? { status: 0 }
  : spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/access/vitest.config.ts'], {
      cwd: root,
      stdio: 'inherit',
      // What is asked for does not depend on how many histories are played.
      env: { PROMOTER_HISTORIES: '20', ...process.env, ACCESS_LOG: log },
    })
const asked = [...new Set(readFileSync(log, 'utf8').trim().split('\n'))].map((line) => JSON.parse(line) as Asked)
rmSync(directory, { recursive: true, force: true })

let faults = status === 0 ? 0 : 1
for (const role of clusterRoles) {
  const { refused, onTargets } = compare(role, asked)
  console.log(`\n## ${role}\nasks of targets: ${onTargets.join(', ') || 'nothing'}`)
  for (const line of refused) console.log(`REFUSED  ${line}`)
  faults += refused.length
}
process.exit(faults === 0 ? 0 : 1)
