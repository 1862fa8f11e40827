import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startReferenceCluster, type ReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { whyUnavailable } from '../../scripts/reference-cluster/tools.ts'
import { Reader, shellBlocks } from './reader.ts'

const missing = await whyUnavailable('etcd', 'kube-apiserver', 'kubectl', 'helm')
if (missing) console.warn(`SKIPPED: what docs/guide/install.md says was NOT typed: ${missing}`)
console.warn(
  'SKIPPED: "docker build" of docs/guide/install.md is NOT typed here: npm run test:image builds the same file',
)

const page = 'docs/guide/install.md'
const blocks = shellBlocks(page).map(([, block]) => block)
const block = (words: string) => blocks.find((each) => each.includes(words)) ?? expect.fail(`no block has ${words}`)

/** A cluster of Kubernetes' own programs, with nodes that nobody has. */
describe.skipIf(missing)('what docs/guide/install.md says', () => {
  let cluster: ReferenceCluster
  let reader: Reader
  const works = async (text: string) => {
    const { code, output } = await reader.types(text)
    expect([code, code === 0 ? '' : output]).toEqual([0, ''])
    return output
  }
  const begin = async () => {
    cluster = await startReferenceCluster({ durable: false })
    reader = await Reader.at(cluster.kubeconfig)
  }
  const end = async () => {
    await reader?.[Symbol.asyncDispose]()
    await cluster?.stop()
  }

  it('is all of it typed here, but for what needs a container runtime or is typed elsewhere', () => {
    const typed = [
      'sojourn install --dry-run',
      'kubectl apply --server-side -k',
      'helm install',
      'get secret sojourn-promoter',
      'sojourn run',
      'sojourn drain',
    ]
    const elsewhere = ['npm ci', 'docker build']
    expect(blocks.filter((each) => ![...typed, ...elsewhere].some((words) => each.includes(words)))).toEqual([])
  })

  describe('of manifests', () => {
    beforeAll(begin, 900_000)
    afterAll(end)

    it('works twice, and then lists what is there', async () => {
      await works(block('sojourn install --dry-run'))
      await works(block('sojourn install --dry-run'))
      await works('sojourn status -A && sojourn forecast -A')
      const names = await works("kubectl -n sojourn-system get deployments -o 'jsonpath={.items[*].metadata.name}'")
      expect(names.split(' ')).toEqual(['sojourn', 'sojourn-proxy'])
    })

    it('works with Kustomize, by the overlay that is shown', async () => {
      const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
      const overlay = /^```yaml\n(resources: .*?)^```$/ms.exec(text)?.[1] ?? expect.fail('no overlay is shown')
      // The folder of the checkout stands beside the overlay.
      await works('mkdir OVERLAY && ln -s . sojourn')
      reader.has('OVERLAY/kustomization.yaml', overlay)
      await works(block('kubectl apply --server-side -k'))
      const image = "-o 'jsonpath={.spec.template.spec.containers[0].image}'"
      expect(await works(`kubectl -n sojourn-system get deployment sojourn ${image}`)).toBe('REGISTRY/sojourn:0.2.0')
    })

    it('of the kinds before an upgrade works', () =>
      works('sojourn install --crds-only | kubectl apply --server-side --force-conflicts -f -'))
  })

  describe('of Helm', () => {
    beforeAll(begin, 900_000)
    afterAll(end)

    it('installs', async () => {
      expect(await works(block('helm install'))).toContain('STATUS: deployed')
    })

    it('runs a role from outside, which says where it is', async () => {
      const { code, output } = await reader.starts(block('sojourn run'), 'sojourn running')
      expect([code, output]).toEqual([0, expect.stringContaining('sojourn running server=')])
    })

    it('gives Flux the authority that the promoter made, which signed what it serves', async () => {
      // In a cluster its pod does this.
      await reader.starts('sojourn run --only promoter --port 0', 'sojourn running')
      await works('kubectl create namespace flux-system')
      await works(block('get secret sojourn-promoter'))
      const served = "kubectl -n sojourn-system get secret sojourn-promoter -o 'jsonpath={.data.tls\\.crt}' | base64 -d"
      await works(`${served} > tls.crt`)
      const { status, stdout } = spawnSync('openssl', ['verify', '-CAfile', 'ca.crt', 'tls.crt'], {
        cwd: reader.folder,
        encoding: 'utf8',
      })
      expect([status, stdout]).toEqual([0, 'tls.crt: OK\n'])
    })

    it('goes away, and nothing of it is held', async () => {
      // Whoever was cut off while it took its Lease is believed to run until that is over.
      await expect
        .poll(async () => (await reader.types('sojourn drain --dry-run')).output, { timeout: 60_000 })
        .not.toContain('still runs')
      expect(await works(block('sojourn drain'))).toContain('release "sojourn" uninstalled')
      expect(await works('kubectl -n sojourn-system get deployments,services,secrets -o name')).toBe('')
    })
  })
})
