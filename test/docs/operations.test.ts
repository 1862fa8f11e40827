import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { inlineCommands, Reader, shellBlocks } from './reader.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kubectl')
if (missing) console.warn(`SKIPPED: what the pages on operations and security say was NOT typed: ${missing}`)

const pages = ['docs/operations.md', 'docs/guide/security.md'] as const
/** Typed for the pages that explain them, or here with a name; the manifests that one of them prints are applied here too. */
const elsewhere = /^sojourn (?:up|run|dashboard|restore)$/
const lines = (page: string) => [
  ...inlineCommands(page).filter((command) => !elsewhere.test(command)),
  ...shellBlocks(page).flatMap(([, block]) => block.trim().split('\n')),
]

describe.skipIf(missing)('the pages on operations and security', () => {
  let cluster: ReferenceCluster
  let reader: Reader
  beforeAll(async () => {
    cluster = await startReferenceCluster({ durable: false })
    reader = await Reader.at(cluster.kubeconfig)
    const { code, output } = await reader.types(world)
    expect([code, output]).toEqual([0, output])
  }, 900_000)
  afterAll(async () => {
    await reader?.[Symbol.asyncDispose]()
    await cluster?.stop()
  })

  it.each(pages.flatMap((page) => lines(page).map((line) => [page, line] as const)))(
    '%s: “%s” can be typed and works',
    async (_, line) => {
      const { code, output } = await reader.types(filledIn(line))
      expect([code, code === 0 ? '' : output]).toEqual([0, ''])
    },
  )
})

/** An installation, and a namespace where a Cleaner has deleted something that can be restored. */
const world = `
sojourn install --dry-run --image example.org/sojourn > install.yaml
until kubectl apply --server-side -f install.yaml; do sleep 1; done
kubectl create namespace team
kubectl create namespace prod
kubectl -n team create configmap settings --from-literal=a=b
kubectl -n team create configmap former --from-literal=a=b
kubectl wait --for=condition=Established crd/cleaners.sojourn.dev --timeout=60s
until kubectl apply -f - <<'END'
apiVersion: sojourn.dev/v1alpha1
kind: Cleaner
metadata: { name: former, namespace: team }
spec: { ttl: 1s, targets: [{ name: it, delete: true, reference: { version: v1, kind: ConfigMap, name: former } }] }
END
do sleep 1; done
sojourn run --only cleaner --port 0 & pid=$!
kubectl -n team wait --for=delete configmap/former --timeout=60s
kill $pid
wait $pid
`
const record = '$(kubectl -n team get departures -o name | grep -m1 configmap | cut -d/ -f2)'

/** The line with names of this cluster for the placeholders, and what an installation prints checked by the server. */
function filledIn(line: string): string {
  const named = line
    // Deleted again, for the next line, which restores its record.
    .replace(
      /^sojourn restore KIND\/NAME.*/,
      'sojourn restore configmap/former -n team && kubectl -n team delete cm former',
    )
    .replaceAll('KIND/NAME', 'configmap/settings')
    .replaceAll('NAMESPACE', 'team')
    .replace(/^sojourn opt-in$/, 'sojourn opt-in configmap/settings')
    .replace('restore RECORD', `restore ${record}`)
  if (named.startsWith('sojourn opt-')) return `${named} -n team`
  return named.startsWith('sojourn install') ? `${named} | kubectl apply --server-side --dry-run=server -f -` : named
}
