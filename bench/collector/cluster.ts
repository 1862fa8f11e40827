import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { Connection } from '../apiserver/connection.ts'
import type { Target } from '../apiserver/target.ts'

const namespace = 'bench'
export const configMaps = `/api/v1/namespaces/${namespace}/configmaps`

interface Created {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string }
}

export async function makeNamespace(target: Target): Promise<void> {
  using connection = await Connection.open(target)
  await connection.send('POST', '/api/v1/namespaces', JSON.stringify({ metadata: { name: namespace } }))
}

/** Creates a ConfigMap of about 1.5 KB, owned by another if one is given. */
export async function create(
  connection: Connection,
  name: string,
  owner?: { readonly name: string; readonly uid: string; readonly controller?: boolean },
): Promise<Created['metadata']> {
  const ownerReferences = owner ? [{ apiVersion: 'v1', kind: 'ConfigMap', ...owner }] : []
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ownerReferences },
    data: { text: 'x'.repeat(900) },
  }
  const { status, body: answer } = await connection.send('POST', configMaps, JSON.stringify(body))
  if (status !== 201) throw new Error(`create ${name}: ${status} ${answer}`)
  return (JSON.parse(answer) as Created).metadata
}

/** One owner and this many dependents, created by 32 clients. Objects that a controller would recreate are not recorded when deleted. */
export async function fanOut(
  target: Target,
  root: string,
  dependents: number,
  { isRecorded = true }: { readonly isRecorded?: boolean } = {},
): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 32 }, () => Connection.open(target)))
  const { uid } = await create(connections[0] as Connection, root)
  let made = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (made < dependents)
        await create(connection, `${root}-${made++}`, { name: root, uid, controller: !isRecorded })
      connection[Symbol.dispose]()
    }),
  )
}

/** A row of objects, each owned by the one before it. */
export async function chainOf(target: Target, root: string, levels: number): Promise<void> {
  using connection = await Connection.open(target)
  let owner = { name: root, uid: (await create(connection, root)).uid }
  for (let level = 1; level < levels; level++) {
    const name = `${root}-${level}`
    owner = { name, uid: (await create(connection, name, owner)).uid }
  }
}

/** Deletes the namespace with all that is in it; how long that took. */
export async function emptied(target: Target): Promise<number> {
  using connection = await Connection.open(target)
  const at = performance.now()
  await connection.send('DELETE', `/api/v1/namespaces/${namespace}`)
  for (let status = 200; status !== 404;) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    status = (await connection.send('GET', `/api/v1/namespaces/${namespace}`)).status
  }
  return (performance.now() - at) / 1000
}

/** Deletes the root in the background; how long an independent watcher took to see so many objects go, or how many when the time was up. */
export async function collected(
  target: Target,
  root: string,
  objects: number,
  mostSeconds = 600,
): Promise<{ readonly seconds: number; readonly objects: number }> {
  using connection = await Connection.open(target)
  // Something new tells where the watch has to begin.
  const { resourceVersion } = await create(connection, `${root}.now`)
  const watching = await watchGone(target, resourceVersion, objects)
  const at = performance.now()
  await connection.send('DELETE', `${configMaps}/${root}?propagationPolicy=Background`)
  const timer = setTimeout(() => watching.end(), mostSeconds * 1000)
  const seen = await watching.done
  clearTimeout(timer)
  return { seconds: (performance.now() - at) / 1000, objects: seen }
}

/**
 * Counts DELETED events as they come, hardly reading them: the watcher must not be what is measured. kube-apiserver ends the watch of
 * a client that falls behind, which then resumes at its last resource version.
 */
async function watchGone({ url, token, ca }: Target, resourceVersion: string, count: number) {
  const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
  const over = Promise.withResolvers<number>()
  let seen = 0
  let sent = await follow(resourceVersion)
  const end = () => {
    over.resolve(seen)
    sent.destroy()
  }
  return { done: over.promise, end }

  async function follow(since: string): Promise<ClientRequest> {
    const path = `${url}${configMaps}?watch=1&resourceVersion=${since}&timeoutSeconds=900`
    const asked = request(path, { ca, headers, agent: false })
    asked.end()
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      asked.once('response', resolve).once('error', reject)
    })
    let rest = ''
    let last = since
    response.setEncoding('latin1')
    response.on('error', () => {})
    response.on('data', (chunk: string) => {
      const text = rest + chunk
      let after = 0
      for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, after)) {
        seen++
        after = at + mark.length
      }
      const at = text.lastIndexOf(versionMark)
      if (at >= 0) last = /^[0-9]+(?=")/.exec(text.slice(at + versionMark.length))?.[0] ?? last
      rest = text.slice(Math.max(after, text.length - mark.length + 1))
      if (seen >= count) end()
    })
    response.once('end', () => {
      follow(last).then((again) => {
        sent = again
      }, over.reject)
    })
    return asked
  }
}

const mark = '{"type":"DELETED"'
const versionMark = '"resourceVersion":"'

/** Sends unrelated requests while `work` runs: the duration of each in milliseconds, sorted. */
export async function bystander<T>(
  target: Target,
  work: () => Promise<T>,
): Promise<{ result: T; latencies: number[] }> {
  using connection = await Connection.open(target)
  const latencies: number[] = []
  const state = { isOver: false }
  const asking = (async () => {
    while (!state.isOver) {
      const at = performance.now()
      await connection.send('GET', '/api/v1/namespaces/kube-system')
      latencies.push(performance.now() - at)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })()
  const result = await work()
  state.isOver = true
  await asking
  return { result, latencies: latencies.toSorted((left, right) => left - right) }
}
