import { beforeAll, describe, expect, it } from 'vitest'
import { Client } from '../../src/client/client.ts'
import { scan, type Scan, type ScannedObject } from '../../src/queries/use/scan.ts'
import { readCorpus, serving } from './corpus.ts'

/** The kinds in which kor finds unused objects, beside finalizers that keep something stuck. */
const korKinds =
  'ConfigMap Secret ServiceAccount Service Deployment StatefulSet DaemonSet ReplicaSet Job CronJob Pod PersistentVolumeClaim PersistentVolume StorageClass Ingress HorizontalPodAutoscaler PodDisruptionBudget Role ClusterRole RoleBinding NetworkPolicy PriorityClass CustomResourceDefinition'.split(
    ' ',
  )

const now = Date.parse('2026-11-01T00:00:00Z')
const corpus = readCorpus()
const labelled = corpus.filter(({ verdict }) => verdict !== undefined)
const objects = corpus.map(({ object }) => object)
const requests: string[] = []
let found: Scan
beforeAll(async () => {
  const onRequest = ({ method, path }: { method: string; path: string }) => requests.push(`${method} ${path}`)
  found = await scan(new Client(serving(objects, { onRequest })), { now })
})

const keyOf = (kind: string, namespace: string | undefined, name: string) => `${kind} ${namespace ?? ''}/${name}`
const verdicts = ({ objects: scanned }: Scan) =>
  new Map(scanned.map((each) => [keyOf(each.kind, each.namespace, each.name), each] as const))

describe('the labelled corpus', () => {
  it('holds at least 150 objects, of every kind that kor knows, with each verdict', () => {
    expect(labelled.length).toBeGreaterThanOrEqual(150)
    const unused = labelled.filter(({ verdict }) => verdict === 'unused').map(({ object }) => object.kind)
    expect(korKinds.filter((kind) => !unused.includes(kind))).toEqual([])
    expect(new Set(labelled.map(({ verdict }) => verdict)).size).toBe(3)
  })

  it('C66: calls no used or unknown object unused, and finds every unused one, for the right reason', () => {
    const said = verdicts(found)
    const wrong = labelled.flatMap(({ object: { kind, metadata }, verdict, reason }) => {
      const key = keyOf(kind, metadata.namespace, metadata.name)
      const got = said.get(key)
      return got?.verdict === verdict && got?.reason.includes(reason)
        ? []
        : [`${key}: ${verdict} (${reason}), not ${got?.verdict} (${got?.reason})`]
    })
    process.stdout.write(`${precisionTable(found)}\n`)
    expect(wrong).toEqual([])
  })

  it('judges no object that the corpus does not label', () => {
    const known = new Set(
      labelled.map(({ object: { kind, metadata } }) => keyOf(kind, metadata.namespace, metadata.name)),
    )
    expect([...verdicts(found).keys()].filter((key) => !known.has(key))).toEqual([])
  })

  it('is read with one list per kind, and nothing is written', () => {
    expect(requests.filter((request) => !request.startsWith('GET '))).toEqual([])
    expect(requests.length).toBe(new Set(requests).size)
  })

  it('leaves the use unknown of what a kind that may not be listed could refer to', async () => {
    const client = new Client(serving(objects, { forbidden: ['widgets'] }))
    const said = verdicts(await scan(client, { now }))
    expect(said.get('ConfigMap shop/web-old')).toMatchObject({
      verdict: 'unknown',
      reason: 'you may not list widgets.example.com',
    })
    expect([...said.values()].filter(({ verdict, kind }) => verdict === 'unused' && kind === 'Secret')).toEqual([])
  })

  it('judges one namespace only, by what is in all of them', async () => {
    const { objects: scanned } = await scan(new Client(serving(objects)), { now, namespace: 'edge' })
    expect(new Set(scanned.map(({ namespace }) => namespace))).toEqual(new Set(['edge']))
    expect(scanned.find(({ name }) => name === 'tool-certificate')?.verdict).toBe('used')
  })
})

/** Precision: how many called unused are. Recall: how many of the unused were found. */
function precisionTable(scanned: Scan): string {
  const said = verdicts(scanned)
  const kinds = [...new Set(labelled.map(({ object }) => object.kind))].toSorted()
  const lines = [...kinds, 'all'].map((kind) => {
    const of = labelled.filter(({ object }) => kind === 'all' || object.kind === kind)
    const is = ({ object: { kind: its, metadata } }: (typeof of)[number]): ScannedObject['verdict'] | undefined =>
      said.get(keyOf(its, metadata.namespace, metadata.name))?.verdict
    const called = of.filter((each) => is(each) === 'unused')
    const right = called.filter(({ verdict }) => verdict === 'unused').length
    const unused = of.filter(({ verdict }) => verdict === 'unused').length
    const share = (part: number, whole: number) => (whole === 0 ? '-' : (part / whole).toFixed(2))
    return [kind.padEnd(26), of.length, unused, share(right, called.length), share(right, unused)].join('\t')
  })
  return ['kind                      \tobjects\tunused\tprecision\trecall', ...lines].join('\n')
}
