import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { ensureTool } from '../../../scripts/reference-cluster/tools.ts'
import { startSojourn } from '../../e2e/activator/sojourn-process.ts'
import { e2eProgram, packageFolder, packageProgram, packages } from './build.ts'
import { compareOutcomes, readOutcomes, readReport, type FoundOutcome, type Outcomes } from './outcomes.ts'

/** How long one spec that is listed as failing may try. */
const failingSeconds = 60
/** A group that hangs costs no more than this. */
const groupSeconds = 2400

/** What each suite printed, a file a group. */
const logs = process.env['CONFORMANCE_LOGS'] ?? join(tmpdir(), 'sojourn-conformance')

/** Suites that others wrote, each part on a server of its own. `build.ts` says loudly why they are skipped. */
describe.skipIf(!existsSync(e2eProgram))('on the embedded server', () => {
  beforeAll(() => {
    mkdirSync(logs, { recursive: true })
    console.error(`The output of each group is in ${logs}`)
  })

  it.concurrent.each(groupsOf(readOutcomes('kubernetes-e2e')))(
    "each spec of Kubernetes' end-to-end suite ends as listed: $name",
    async ({ name, passing, failing }) => {
      const progress = progressOf(name, passing.length + failing.length)
      await using cluster = await startEmbedded([])
      const log = join(logs, `${name}.log`)
      writeFileSync(log, '')
      const found = new Map(
        passing.length === 0 ? [] : await e2e(cluster, passing, { seconds: groupSeconds, log, progress }),
      )
      for (const spec of failing)
        for (const [each, outcome] of await e2e(cluster, [spec], { seconds: failingSeconds, log, progress }))
          found.set(each, outcome)
      const compared = compareOutcomes(
        'kubernetes-e2e',
        found,
        (spec) => passing.includes(spec) || failing.includes(spec),
      )
      progress.end(compared)
      expect(compared.found).toEqual(compared.listed)
    },
  )

  // Like envtest: no controllers of workloads, no Node; a cluster of its own, because the tests count all objects.
  it.concurrent.each(packages)('each test of controller-runtime/pkg/%s ends as listed', async (name) => {
    const progress = progressOf(name, 1)
    await using cluster = await startEmbedded(['--only', 'api'])
    const kubectl = await ensureTool('kubectl')
    const own = join(cluster.directory, 'namespaces-are-finalized-by-the-test.json')
    writeFileSync(own, JSON.stringify(finalizedByTest))
    for (const command of [
      ['delete', 'nodes', '--all'],
      ['create', '-f', own],
    ])
      await promisify(execFile)(kubectl, ['--kubeconfig', cluster.kubeconfig, ...command])
    const report = join(cluster.directory, `${name}.json`)
    const flags = ['-ginkgo.no-color', '-ginkgo.flake-attempts=3', `-ginkgo.json-report=${report}`]
    const env = { USE_EXISTING_CLUSTER: 'true', KUBECONFIG: cluster.kubeconfig }
    const log = join(logs, `${name}.log`)
    writeFileSync(log, '')
    await run(packageProgram(name), flags, { cwd: await packageFolder(name), env, seconds: 900, log })
    const found = new Map([...readReport(report)].map(([test, outcome]) => [`${name}: ${test}`, outcome]))
    const compared = compareOutcomes('controller-runtime', found, (spec) => spec.startsWith(`${name}: `))
    progress.end(compared)
    expect(compared.found).toEqual(compared.listed)
  })
})

const policy = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'finalized-by-test' } }
const finalizing = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['namespaces/finalize'] }
/** The tests remove the finalizer of a Namespace themselves, as there is no namespace controller in envtest: here one would be faster. */
const finalizedByTest = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      ...policy,
      kind: 'ValidatingAdmissionPolicy',
      spec: {
        matchConstraints: { resourceRules: [finalizing] },
        validations: [{ expression: "request.userInfo.username == 'system:admin'" }],
      },
    },
    {
      ...policy,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: 'finalized-by-test', validationActions: ['Deny'] },
    },
  ],
}

interface Group {
  readonly name: string
  readonly passing: readonly string[]
  readonly failing: readonly string[]
}

/** Specs that run, by special interest group and in parts that take a few minutes each. */
function groupsOf(listed: Outcomes): readonly Group[] {
  const running = Object.keys(listed).filter((spec) => listed[spec]?.outcome !== 'not run')
  const named = (outcome: string) => (spec: string) => listed[spec]?.outcome === outcome
  return Object.entries(Object.groupBy(running, (spec) => /^\[([^\]]+)\]/.exec(spec)?.[1] ?? 'other')).flatMap(
    ([group, specs = []]) =>
      Array.from({ length: Math.ceil(specs.length / groupSize) }, (_, part) => {
        const chosen = specs.slice(part * groupSize, (part + 1) * groupSize)
        return {
          name: `${group}-${part + 1}`,
          passing: chosen.filter(named('pass')),
          failing: chosen.filter(named('fail')),
        }
      }),
  )
}

const groupSize = 10

interface Progress {
  /** A spec has ended. */
  step(line: string): void
  end(compared: { readonly found: Outcomes; readonly listed: Outcomes }): void
}

/** A line for each spec that ends, so that a run of an hour shows where it is. */
function progressOf(name: string, total: number): Progress {
  const startedAt = performance.now()
  const seconds = () => `${Math.round((performance.now() - startedAt) / 1000)} s`
  let done = 0
  console.error(`${name}: ${total} to run`)
  return {
    step: (line) => console.error(`${name}: ${++done} of ${total} after ${seconds()}  ${line}`),
    end({ found, listed }) {
      const others = Object.keys(found).filter((spec) => found[spec]?.outcome !== listed[spec]?.outcome)
      console.error(
        `${name}: ${others.length === 0 ? 'all as listed' : `${others.length} NOT as listed`} after ${seconds()}`,
      )
      for (const spec of others) console.error(`  ${found[spec]?.outcome}: ${spec}: ${found[spec]?.reason ?? ''}`)
    },
  }
}

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
  { seconds, log, progress }: { readonly seconds: number; readonly log: string; readonly progress: Progress },
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
    '--ginkgo.v',
    `--ginkgo.focus=${focus}`,
    `--ginkgo.json-report=${report}`,
    `--ginkgo.timeout=${seconds}s`,
  ]
  rmSync(report, { force: true })
  const onLine = (line: string) => /^• .*\[[\d.]+ seconds\]$/.test(line) && progress.step(line)
  await run(e2eProgram, flags, { cwd: directory, env: {}, seconds: seconds + 60, log, onLine })
  // A suite that hangs beyond its own time limit writes no report.
  if (!existsSync(report)) return new Map(specs.map((spec) => [spec, { outcome: 'fail', message: 'no report' }]))
  return new Map([...readReport(report)].filter(([spec]) => specs.includes(spec)))
}

/** Runs a program to its end, or ends it. What it prints is appended to the log. */
async function run(
  program: string,
  flags: readonly string[],
  at: {
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
    readonly seconds: number
    readonly log: string
    readonly onLine?: (line: string) => void
  },
): Promise<void> {
  const child = spawn(program, flags, {
    cwd: at.cwd,
    env: { ...process.env, ...at.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), at.seconds * 1000)
  const follow = async (stream: Readable) => {
    for await (const line of createInterface({ input: stream })) {
      appendFileSync(at.log, `${line}\n`)
      at.onLine?.(line)
    }
  }
  await Promise.all([once(child, 'close'), follow(child.stdout), follow(child.stderr)])
  clearTimeout(timer)
}
