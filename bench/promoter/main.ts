import { pipeline as pipelineKind, type Pipeline } from '../../src/apis/pipeline.ts'
import type { StoredObject } from '../../src/kube/object.ts'
import { decide } from '../../src/systems/promoter/decision/decide.ts'
import { environments, pipelineOf, World } from '../../test/promoter/world.ts'
import { helmRelease, TestCluster, TestPromoter } from '../../test/promoter/cluster.ts'
import { fill, namespaceName, type Size } from './fill.ts'

const size: Size = { pipelines: Number(process.env['PIPELINES'] ?? 1000), environments: 4, targets: 3 }
const changes = Number(process.env['CHANGES'] ?? 300)
const wantedColdMs = 10_000
const wantedChangeMs = 100

const perDecision = measureDecide()
const home = await TestCluster.start()
console.error(`creating ${size.pipelines} pipelines × ${size.environments} environments × ${size.targets} targets`)
await fill(home, size)
const watching = new AbortController()
const seen = await followPipelines(home, watching.signal)

const startedAt = performance.now()
const cpu = process.cpuUsage()
const promoter = new TestPromoter(home)
await seen.until(
  (pipelines) =>
    [...pipelines.values()].filter(({ status }) => status?.run?.phase === 'Complete').length === size.pipelines,
)
const coldMs = performance.now() - startedAt
const { user, system } = process.cpuUsage(cpu)

await promoter.promoter.controller.whenIdle()
const latencies = await measureChanges()
await promoter.stop()
watching.abort()
await home.close()

const p = (share: number) =>
  latencies.toSorted((left, right) => left - right)[
    Math.min(latencies.length - 1, Math.floor(latencies.length * share))
  ] ?? NaN
console.log('| what | measured | wanted | holds |\n|---|--:|--:|---|')
row(
  `cold start of ${size.pipelines} × ${size.environments} × ${size.targets}`,
  `${(coldMs / 1000).toFixed(2)} s`,
  '< 10 s',
  coldMs < wantedColdMs,
)
row('processor time of that, API server included', `${((user + system) / 1e6).toFixed(2)} s`, '', true)
row("a target's change until the decision is written, p50", `${p(0.5).toFixed(1)} ms`, '', true)
row('the same, p99', `${p(0.99).toFixed(1)} ms`, '< 100 ms', p(0.99) < wantedChangeMs)
row('one decision of 4 × 3, nothing to do', `${perDecision.toFixed(1)} µs`, '', true)
process.exit(coldMs < wantedColdMs && p(0.99) < wantedChangeMs ? 0 : 1)

function row(what: string, measured: string, wanted: string, holds: boolean): void {
  console.log(`| ${what} | ${measured} | ${wanted} | ${holds ? 'yes' : 'NO'} |`)
}

/** From the write of a target's status to the pipeline's status that speaks of it. */
async function measureChanges(): Promise<number[]> {
  const found: number[] = []
  for (let change = 0; change < changes; change++) {
    const name = `app-${Math.floor((change * 7919) % size.pipelines)}`
    const place = { namespace: namespaceName(0, 0), name }
    const current = await home.client.get<StoredObject & { status: object }>(helmRelease, place)
    const revision = `1.0.1-change.${change}`
    const history = [{ version: 2, status: 'deployed', chartVersion: revision }]
    const written = performance.now()
    await home.client.update(
      helmRelease,
      { ...current, status: { ...current.status, history } },
      { subresource: 'status' },
    )
    await seen.until(
      (pipelines) => pipelines.get(name)?.status?.environments?.['env-0']?.targets?.[0]?.revision === revision,
    )
    found.push(performance.now() - written)
  }
  return found
}

function measureDecide(): number {
  const world = new World(
    pipelineOf({
      environments: environments('a', 'b', 'c', 'd').map((each) => ({
        ...each,
        targets: [1, 2, 3].map((target) => ({ namespace: `n${target}` })),
      })),
    }),
  )
  world.runs({ a: '1', b: '1', c: '1', d: '1' })
  world.step()
  const { observed, now } = world
  const rounds = 5000
  const from = performance.now()
  for (let round = 0; round < rounds; round++) decide(observed, now)
  return ((performance.now() - from) / rounds) * 1000
}

/** The newest of every pipeline, as a watcher sees them. */
async function followPipelines(cluster: TestCluster, signal: AbortSignal) {
  const pipelines = new Map<string, Pipeline>()
  let check = () => {}
  const { items, metadata } = await cluster.client.list<Pipeline>(pipelineKind.type)
  for (const item of items) pipelines.set(item.metadata.name, item)
  void (async () => {
    for await (const { type, object } of cluster.client.watch<Pipeline>(pipelineKind.type, {
      resourceVersion: metadata.resourceVersion,
      signal,
    })) {
      if (type === 'ADDED' || type === 'MODIFIED') pipelines.set(object.metadata.name, object)
      check()
    }
  })().catch(() => {})
  return {
    until: (wanted: (seen: ReadonlyMap<string, Pipeline>) => boolean): Promise<void> =>
      new Promise((resolve) => {
        check = () => {
          if (wanted(pipelines)) resolve()
        }
        check()
      }),
  }
}
