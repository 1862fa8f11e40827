import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReferenceCluster } from '../reference-cluster/reference-cluster.ts'
import { Asker } from './asker.ts'
import { recordings } from './recordings.ts'

/**
 * Asks a real kube-apiserver again what it answers to the requests in test/apiserver/recorded, and writes its answers
 * there. What changed shows as a diff; a case is added by writing down its request and running this.
 */
const folder = join(import.meta.dirname, '../../test/apiserver/recorded')

await using cluster = await startReferenceCluster({
  durable: false,
  apiServer: { flags: ['--disable-admission-plugins=ServiceAccount'] },
})
const asker = new Asker(cluster)
for (const [name, ask] of Object.entries(recordings)) {
  const file = join(folder, `${name}.json`)
  const answers = await ask(asker, JSON.parse(readFileSync(file, 'utf8')) as never)
  writeFileSync(file, print(answers))
  console.log(`recorded ${name}`)
}

/** One case per line, so that a changed answer is one changed line. */
function print(value: unknown): string {
  const lines = (list: readonly unknown[]): string => `[\n${list.map((each) => JSON.stringify(each)).join(',\n')}\n]`
  if (Array.isArray(value)) return `${lines(value)}\n`
  const parts = Object.entries(value as Record<string, unknown>).map(
    ([key, part]) => `${JSON.stringify(key)}:${Array.isArray(part) ? lines(part) : JSON.stringify(part)}`,
  )
  return `{${parts.join(',\n')}}\n`
}
