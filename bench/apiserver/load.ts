import { Connection } from './connection.ts'
import type { Target } from './target.ts'

export const namespace = 'bench'
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`

/** A ConfigMap whose stored JSON is about 1.5 KB. */
export function objectBody(name: string): string {
  const data = { text: 'x'.repeat(1000) }
  return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { app: 'bench' } }, data })
}

/** What many clients do at once, as often as they can. */
export type Operation = 'create' | 'get' | 'list'

let names = 0

/** Does one operation; fails loudly if the server does not do its part. */
async function once(connection: Connection, operation: Operation): Promise<void> {
  const { method, path, body, expected } = requestOf(operation)
  const { status } = await connection.send(method, path, body)
  if (status !== expected) throw new Error(`${method} ${path} answered ${status}`)
}

function requestOf(operation: Operation) {
  switch (operation) {
    case 'create':
      return { method: 'POST', path: configMaps, body: objectBody(`o${names++}`), expected: 201 }
    case 'get':
      return { method: 'GET', path: `${configMaps}/seed-${names++ % seeds}`, body: undefined, expected: 200 }
    case 'list':
      return {
        method: 'GET',
        path: `/api/v1/namespaces/${namespace}-seed/configmaps?limit=500`,
        body: undefined,
        expected: 200,
      }
  }
}

const seeds = 500

/** Makes what gets and lists read: 500 objects beside those that creates make, and 500 in a namespace of their own. */
export async function seed(target: Target): Promise<void> {
  using connection = await Connection.open(target)
  for (const name of [namespace, `${namespace}-seed`]) {
    await connection.send('POST', '/api/v1/namespaces', JSON.stringify({ metadata: { name } }))
    for (let n = 0; n < seeds; n++)
      await connection.send('POST', `/api/v1/namespaces/${name}/configmaps`, objectBody(`seed-${n}`))
  }
}

/** Operations per second of this many clients over this long. */
export async function throughput(
  target: Target,
  { operation, clients, spanMs }: { operation: Operation; clients: number; spanMs: number },
): Promise<number> {
  const connections = await Promise.all(Array.from({ length: clients }, () => Connection.open(target)))
  await Promise.all(connections.map((connection) => once(connection, operation)))
  let count = 0
  const startedAt = performance.now()
  const work = async (connection: Connection) => {
    while (performance.now() - startedAt < spanMs) {
      await once(connection, operation)
      count++
    }
  }
  await Promise.all(connections.map(work))
  const seconds = (performance.now() - startedAt) / 1000
  for (const connection of connections) connection[Symbol.dispose]()
  return count / seconds
}

/** Creates this many objects, 64 at a time. */
export async function fill(target: Target, count: number): Promise<void> {
  const connections = await Promise.all(Array.from({ length: 64 }, () => Connection.open(target)))
  let left = count
  await Promise.all(
    connections.map(async (connection) => {
      while (left-- > 0) await once(connection, 'create')
    }),
  )
  for (const connection of connections) connection[Symbol.dispose]()
}
