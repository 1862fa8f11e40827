import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../src')

/** Who may speak of deletes on the wire: the client that words them, the server that answers them, the door. */
const mayDelete = [
  /^client\/client\.ts$/,
  /^departures\//,
  /^apiserver\//,
  /^kube\/transport\.ts$/,
  // Plays Kubernetes' own controllers on the embedded server: what it may delete is said there, and guarded.
  /^workloads\/delete\.ts$/,
  // How each cloud resource is removed, as the `Subject` that the door is given; nothing else calls it.
  /^systems\/janitor\/aws\//,
]

/** Every way a delete could leave this process for a cluster or a cloud. */
const deletes = [
  /\.deleteObject\(/,
  /\.deleteCollection\(/,
  /method:\s*['"`]DELETE['"`]/,
  /new (Delete|Deregister|Terminate)\w*Command\b/,
]

function offences(path: string, source: string): string[] {
  if (mayDelete.some((allowed) => allowed.test(path))) return []
  return source
    .split('\n')
    .flatMap((line, index) =>
      deletes.some((pattern) => pattern.test(line)) ? [`${path}:${index + 1}: ${line.trim()}`] : [],
    )
}

describe('one door out', () => {
  it('has no delete anywhere but in src/departures', () => {
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
    )
    expect(files.length).toBeGreaterThan(50)
    expect(files.flatMap((path) => offences(path, readFileSync(join(root, path), 'utf8')))).toEqual([])
  })

  it.each([
    'await client.deleteObject(type, place)',
    "await client.request({ method: 'DELETE', path })",
    'transport({ method: "DELETE" })',
    'client.deleteCollection(type)',
    'await ec2.send(new DeleteSnapshotCommand({ SnapshotId }))',
  ])('would notice %s in a system', (line) => expect(offences('systems/cleaner/act.ts', line)).toHaveLength(1))
})
