import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { ensureTool } from '../../../scripts/reference-cluster/tools.ts'
import { startSojourn } from '../../e2e/activator/sojourn-process.ts'
import { operatorManifests, operatorProgram } from './operator.ts'

/** An operator that others wrote, installed with the manifests that its project publishes. */
describe.skipIf(!existsSync(operatorProgram))('prometheus-operator on the embedded server', () => {
  it('becomes ready as a Deployment and reconciles a Prometheus', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'operator-'))
    const server = await startSojourn(['up', '--port', '0', '--proxy-port', '0', '--data', join(directory, 'data')])
    const kubectl = await ensureTool('kubectl')
    const run = async (...args: string[]): Promise<string> =>
      (await promisify(execFile)(kubectl, ['--kubeconfig', server.said['kubeconfig'] ?? '', ...args])).stdout
    try {
      const manifests = await operatorManifests()
      await run('apply', '--server-side', '-f', join(manifests, 'prometheus-operator-crd'))
      const rbac = join(manifests, 'rbac/prometheus-operator')
      for (const file of ['service-account', 'cluster-role', 'cluster-role-binding', 'service'])
        await run('apply', '-f', join(rbac, `prometheus-operator-${file}.yaml`))
      await run('apply', '-f', deploymentFile(rbac, directory))
      await run('rollout', 'status', 'deployment/prometheus-operator', '--timeout=120s')

      writeFileSync(join(directory, 'prometheus.json'), JSON.stringify(prometheus))
      await run('apply', '-f', join(directory, 'prometheus.json'))
      await run('wait', 'prometheus/shop', '--for=condition=Reconciled', '--timeout=120s')
      const owned = await run('get', 'statefulset/prometheus-shop', 'secret/prometheus-shop', '-o', 'name')
      expect(owned.trim().split('\n')).toEqual(['statefulset.apps/prometheus-shop', 'secret/prometheus-shop'])

      await run('patch', 'prometheus/shop', '--type=merge', '-p', '{"spec":{"replicas":2}}')
      await run('wait', 'statefulset/prometheus-shop', '--for=jsonpath={.spec.replicas}=2', '--timeout=60s')
    } finally {
      await server.stop()
      rmSync(directory, { recursive: true, force: true })
    }
  })
})

const prometheus = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'Prometheus',
  metadata: { name: 'shop', namespace: 'default' },
  spec: { replicas: 1, serviceMonitorSelector: {} },
}

interface Deployment {
  readonly spec: { readonly template: { readonly spec: { readonly containers: [Record<string, unknown>] } } }
}

/** The project's own Deployment, whose container runs the built program instead of an image. */
function deploymentFile(rbac: string, directory: string): string {
  const text = readFileSync(join(rbac, 'prometheus-operator-deployment.yaml'), 'utf8')
  const deployment = parse(text) as Deployment
  const [container] = deployment.spec.template.spec.containers
  const [, ...flags] = container['args'] as string[]
  Object.assign(container, {
    command: [operatorProgram],
    args: [...flags, '--web.listen-address=127.0.0.1:$(PORT)'],
    readinessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 1 },
  })
  const file = join(directory, 'deployment.json')
  writeFileSync(file, JSON.stringify(deployment))
  return file
}
