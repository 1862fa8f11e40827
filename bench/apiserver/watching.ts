import { Connection } from './connection.ts'
import { namespace, objectBody } from './load.ts'
import type { Target } from './target.ts'

const configMaps = `/api/v1/namespaces/${namespace}/configmaps`
let names = 0

/** Milliseconds from sending a create to its event at a watcher, the median of many. */
export async function eventLatency(target: Target, count: number): Promise<number> {
  using writer = await Connection.open(target)
  using watcher = await Connection.open(target)
  const waiting = new Map<string, (at: number) => void>()
  let text = ''
  watcher.watch(`${configMaps}?watch=true&resourceVersion=${await currentVersion(writer)}`, (data) => {
    text += data.toString('latin1')
    for (const [name, arrived] of waiting) {
      if (!text.includes(`"name":"${name}"`)) continue
      waiting.delete(name)
      text = ''
      arrived(performance.now())
    }
  })
  const latencies: number[] = []
  for (let n = 0; n < count; n++) {
    const name = `latency-${names++}`
    const arrival = new Promise<number>((resolve) => waiting.set(name, resolve))
    const sentAt = performance.now()
    await writer.send('POST', configMaps, objectBody(name))
    latencies.push((await arrival) - sentAt)
  }
  return latencies.sort((a, b) => a - b)[Math.floor(count / 2)] ?? NaN
}

/** Milliseconds until this many watchers have all heard of one change; the median of a few. */
export async function fanOut(target: Target, watchers: number): Promise<number> {
  using writer = await Connection.open(target)
  const version = await currentVersion(writer)
  const connections: Connection[] = []
  for (let n = 0; n < watchers; n += 50)
    connections.push(
      ...(await Promise.all(Array.from({ length: Math.min(50, watchers - n) }, () => Connection.open(target)))),
    )
  let name = ''
  let heard = 0
  let all = () => {}
  for (const connection of connections)
    connection.watch(`${configMaps}?watch=true&resourceVersion=${version}`, (data) => {
      if (name && data.includes(name) && ++heard === watchers) all()
    })
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    heard = 0
    const allNotified = new Promise<void>((resolve) => (all = resolve))
    name = `fan-out-${names++}`
    const sentAt = performance.now()
    const { status } = await writer.send('POST', configMaps, objectBody(name))
    if (status !== 201) throw new Error(`a create answered ${status}`)
    await allNotified
    // The first round waits for watches to be opened, too.
    if (round > 0) times.push(performance.now() - sentAt)
  }
  for (const connection of connections) connection[Symbol.dispose]()
  return times.sort((a, b) => a - b)[2] ?? NaN
}

async function currentVersion(connection: Connection): Promise<string> {
  const { body } = await connection.send('GET', `${configMaps}?limit=1`)
  return /"resourceVersion":"(\d+)"/.exec(body)?.[1] ?? '0'
}
