import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { ensureTool } from '../../../scripts/reference-cluster/tools.ts'
import { startSojourn } from '../../e2e/activator/sojourn-process.ts'
import { e2eProgram, packageFolder, packageProgram, packages } from './build.ts'
import { compareOutcomes, readOutcomes, readReport, type FoundOutcome } from './outcomes.ts'

/** How long one spec that is listed as failing may try. */
const failingSeconds = 60

/** Suites that others wrote. `build.ts` says loudly why they are skipped. */
describe.skipIf(!existsSync(e2eProgram))('on the embedded server', () => {
  it("each spec of Kubernetes' end-to-end suite ends as listed", async () => {
    await using cluster = await startEmbedded([])
    const listed = Object.entries(readOutcomes('kubernetes-e2e'))
    const named = (outcome: string) => listed.filter(([, each]) => each.outcome === outcome).map(([spec]) => spec)
    const found = new Map(await e2e(cluster, named('pass'), 5400))
    for (const spec of named('fail'))
      for (const [name, each] of await e2e(cluster, [spec], failingSeconds)) found.set(name, each)
    const compared = compareOutcomes('kubernetes-e2e', found)
    expect(compared.found).toEqual(compared.listed)
  })

  // Like envtest: no controllers of workloads, no Node; a cluster of its own, because the tests count all objects.
  it.each(packages)('each test of controller-runtime/pkg/%s ends as listed', async (name) => {
    await using cluster = await startEmbedded(['--only', 'api'])
    await promisify(execFile)(await ensureTool('kubectl'), [
      '--kubeconfig',
      cluster.kubeconfig,
      'delete',
      'nodes',
      '--all',
    ])
    const report = join(cluster.directory, `${name}.json`)
    const flags = ['-ginkgo.no-color', `-ginkgo.json-report=${report}`]
    const env = { USE_EXISTING_CLUSTER: 'true', KUBECONFIG: cluster.kubeconfig }
    await run(packageProgram(name), flags, { cwd: await packageFolder(name), env, seconds: 900 })
    const found = new Map([...readReport(report)].map(([test, outcome]) => [`${name}: ${test}`, outcome]))
    const compared = compareOutcomes('controller-runtime', found, `${name}: `)
    expect(compared.found).toEqual(compared.listed)
  })
})

interface Embedded extends AsyncDisposable {
  readonly directory: string
  readonly kubeconfig: string
}

async function startEmbedded(flags: readonly string[]): Promise<Embedded> {
  const directory = mkdtempSync(join(tmpdir(), 'suites-'))
  const ports = ['--port', '0', '--proxy-port', '0']
  const server = await startSojourn(['up', ...flags, ...ports, '--no-durable', '--data', join(directory, 'data')])
  return {
    directory,
    kubeconfig: server.said['kubeconfig'] ?? '',
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function e2e(
  { directory, kubeconfig }: Embedded,
  specs: readonly string[],
  seconds: number,
): Promise<ReadonlyMap<string, FoundOutcome>> {
  const report = join(directory, 'e2e.json')
  const focus = specs.map((spec) => spec.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    `--kubectl-path=${await ensureTool('kubectl')}`,
    '--provider=skeleton',
    '--num-nodes=1',
    '--minStartupPods=0',
    '--allowed-not-ready-nodes=-1',
    '--disable-log-dump=true',
    '--dump-logs-on-failure=false',
    '--ginkgo.no-color',
    `--ginkgo.focus=${focus}`,
    `--ginkgo.json-report=${report}`,
    `--ginkgo.timeout=${seconds}s`,
  ]
  rmSync(report, { force: true })
  await run(e2eProgram, flags, { cwd: directory, env: {}, seconds: seconds + 60 })
  // A suite that hangs beyond its own time limit writes no report.
  if (!existsSync(report)) return new Map(specs.map((spec) => [spec, { outcome: 'fail', message: 'no report' }]))
  return new Map([...readReport(report)].filter(([spec]) => specs.includes(spec)))
}

/** Runs a program to its end, or ends it. */
function run(
  program: string,
  flags: readonly string[],
  at: { readonly cwd: string; readonly env: Readonly<Record<string, string>>; readonly seconds: number },
): Promise<void> {
  const child = spawn(program, flags, { cwd: at.cwd, env: { ...process.env, ...at.env }, stdio: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), at.seconds * 1000)
  return new Promise((resolve, reject) =>
    child.on('error', reject).on('close', () => {
      clearTimeout(timer)
      resolve()
    }),
  )
}
