import { readFileSync } from 'node:fs'
import { residentMb, startOurs, type Target } from '../apiserver/target.ts'
import { bystander, chainOf, collected, emptied, fanOut, makeNamespace } from './cluster.ts'

/** One owner and its dependents, on the embedded server with the collector in the same process, as `sojourn up` runs them. */
export async function measureFanOut(dependents: number): Promise<Readonly<Record<string, number>>> {
  await using target = await startOurs('api,collector')
  await makeNamespace(target)
  // A small one first: a server that has just started is slow at everything.
  await fanOut(target, 'warm', 2000)
  await collected(target, 'warm', 2001)
  await fanOut(target, 'root', dependents)
  const before = residentMb(target)
  const cpu = cpuSeconds(target)
  const memory = peak(target)
  const { result, latencies } = await bystander(target, () => collected(target, 'root', dependents + 1))
  const { seconds, objects } = result
  return {
    dependents,
    seconds: round(seconds),
    'watch events': objects,
    'objects/s': Math.round(dependents / seconds),
    'CPU s': round(cpuSeconds(target) - cpu),
    'bystander p50 ms': round(latencies[Math.floor(latencies.length / 2)] ?? 0),
    'bystander p99 ms': round(latencies[Math.floor(latencies.length * 0.99)] ?? 0),
    'memory growth MB': Math.round(memory.end() - before),
  }
}

/** A row of objects, each owned by the one before it. */
export async function measureChain(levels: number): Promise<Readonly<Record<string, number>>> {
  await using target = await startOurs('api,collector')
  await makeNamespace(target)
  await chainOf(target, 'link', levels)
  const cpu = cpuSeconds(target)
  const { seconds } = await collected(target, 'link', levels)
  return { levels, seconds: round(seconds), 'CPU s': round(cpuSeconds(target) - cpu) }
}

/** The same cascade, and the same namespace, with everything in it recorded and with nothing: what a restore costs beforehand. */
export async function measureRecords(dependents: number): Promise<Readonly<Record<string, number>>> {
  const cascade = (isRecorded: boolean) =>
    measured('api,collector', { dependents, isRecorded }, async (target) => {
      await collected(target, 'root', dependents + 1)
    })
  const namespace = (isRecorded: boolean) =>
    measured('api', { dependents, isRecorded }, async (target) => void (await emptied(target)))
  const [plain, recorded] = [await cascade(false), await cascade(true)]
  const [plainSpace, recordedSpace] = [await namespace(false), await namespace(true)]
  return {
    dependents,
    'cascade CPU s': plain.cpu,
    'recorded CPU s': recorded.cpu,
    'recorded s': recorded.seconds,
    'µs more per object': Math.round(((recorded.cpu - plain.cpu) / dependents) * 1e6),
    'namespace CPU s': plainSpace.cpu,
    'namespace recorded CPU s': recordedSpace.cpu,
    'namespace recorded s': recordedSpace.seconds,
    'µs more per object in it': Math.round(((recordedSpace.cpu - plainSpace.cpu) / dependents) * 1e6),
  }
}

async function measured(
  roles: string,
  { dependents, isRecorded }: { readonly dependents: number; readonly isRecorded: boolean },
  work: (target: Target) => Promise<void>,
): Promise<{ readonly cpu: number; readonly seconds: number }> {
  await using target = await startOurs(roles)
  await makeNamespace(target)
  await fanOut(target, 'root', dependents, { isRecorded })
  const cpu = cpuSeconds(target)
  const at = performance.now()
  await work(target)
  return { cpu: round(cpuSeconds(target) - cpu), seconds: round((performance.now() - at) / 1000) }
}

/** The most memory a target takes from now on. */
function peak(target: Target): { end(): number } {
  let most = 0
  const timer = setInterval(() => (most = Math.max(most, residentMb(target))), 50)
  return {
    end() {
      clearInterval(timer)
      return most
    },
  }
}

/** What a target's processes have worked so far: on a busy machine the only figure that does not depend on the others. */
export function cpuSeconds({ pids }: Target): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / 100
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
