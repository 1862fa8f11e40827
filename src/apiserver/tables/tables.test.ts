import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../kube/object.ts'
import { builtinColumns, columnResources } from './builtin-columns.ts'
import { columnsOf } from './column.ts'
import { customColumns } from './custom-columns.ts'
import { podStatus } from './pod-cells.ts'

const now = Date.UTC(2026, 10, 15, 12)
const hourAgo = '2026-11-15T11:00:00Z'

function object(fields: Record<string, unknown> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'X', metadata: { name: 'x', creationTimestamp: hourAgo }, ...fields }
}

/** The cells of a row by the heading of their column. */
function row(resource: string, fields: Record<string, unknown>): Record<string, unknown> {
  const columns = columnsOf(builtinColumns(resource), () => now)
  const values = columns.cells(object(fields))
  return Object.fromEntries(columns.definitions.map(({ name }, index) => [name, values[index]]))
}

describe('tables of built-in kinds', () => {
  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'deployments.apps',
      { spec: { replicas: 3 }, status: { readyReplicas: 1, updatedReplicas: 2 } },
      { Ready: '1/3', 'Up-to-date': 2, Available: 0, Age: '60m' },
    ],
    [
      'services',
      { spec: { type: 'LoadBalancer', ports: [{ port: 80, nodePort: 30080, protocol: 'TCP' }] } },
      { 'External-IP': '<pending>', 'Cluster-IP': '<none>', 'Port(s)': '80:30080/TCP' },
    ],
    ['secrets', { type: 'Opaque', data: { a: 'x', b: 'y' } }, { Type: 'Opaque', Data: 2 }],
    [
      'endpoints',
      { subsets: [{ addresses: [{ ip: '1.1.1.1' }, { ip: '1.1.1.2' }], ports: [{ port: 1 }, { port: 2 }] }] },
      { Endpoints: '1.1.1.1:1,1.1.1.2:1,1.1.1.1:2 + 1 more...' },
    ],
    [
      'nodes',
      { spec: { unschedulable: true }, status: { conditions: [{ type: 'Ready', status: 'False' }] } },
      { Status: 'NotReady,SchedulingDisabled', Roles: '<none>' },
    ],
    [
      'jobs.batch',
      { spec: { completions: 2 }, status: { succeeded: 1, startTime: hourAgo } },
      { Status: 'Running', Completions: '1/2', Duration: '60m' },
    ],
    [
      'cronjobs.batch',
      { spec: { schedule: '* * * * *' }, status: {} },
      { Suspend: 'False', 'Last Schedule': '<none>', Timezone: '<none>' },
    ],
    [
      'ingresses.networking.k8s.io',
      { spec: { tls: [{}], rules: [{ host: 'a' }, {}] } },
      { Class: '<none>', Hosts: 'a', Ports: '80, 443' },
    ],
    ['poddisruptionbudgets.policy', { spec: { minAvailable: 1 } }, { 'Min Available': '1', 'Max Unavailable': 'N/A' }],
    [
      'rolebindings.rbac.authorization.k8s.io',
      { roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'ServiceAccount', namespace: 'n', name: 'a' }] },
      { Role: 'Role/r', ServiceAccounts: 'n/a' },
    ],
    [
      'events',
      {
        type: 'Normal',
        reason: 'R',
        message: ' m ',
        involvedObject: { kind: 'Pod', name: 'p' },
        lastTimestamp: hourAgo,
      },
      { 'Last Seen': '60m', Object: 'pod/p', Message: 'm' },
    ],
  ])('show %s as kubectl users know them', (resource, fields, expected) => {
    expect(row(resource, fields)).toMatchObject(expected)
  })

  it.each(columnResources)('show a bare %s without failing', (resource) => {
    for (const fields of [{}, { spec: null, status: null }, { spec: 7, data: [], subjects: {} }]) {
      expect(Object.values(row(resource, fields)).length).toBeGreaterThan(1)
    }
  })
})

describe('podStatus', () => {
  const pod = (status: Record<string, unknown>, extra: Record<string, unknown> = {}) => object({ status, ...extra })
  it.each<[string, KubeObject]>([
    ['Pending', pod({})],
    ['Running', pod({ phase: 'Running', containerStatuses: [{ ready: true, state: { running: {} } }] })],
    [
      'CrashLoopBackOff',
      pod({ phase: 'Running', containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] }),
    ],
    [
      'Error',
      pod({ phase: 'Failed', containerStatuses: [{ state: { terminated: { reason: 'Error', exitCode: 1 } } }] }),
    ],
    ['ExitCode:3', pod({ phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] })],
    [
      'SchedulingGated',
      pod({ phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] }),
    ],
    ['Evicted', pod({ phase: 'Failed', reason: 'Evicted' })],
    [
      'Init:0/2',
      pod(
        { phase: 'Pending', initContainerStatuses: [{ name: 'i', state: { running: {} } }] },
        { spec: { initContainers: [{ name: 'i' }, { name: 'j' }] } },
      ),
    ],
    [
      'NotReady',
      pod({
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'False' }],
        containerStatuses: [
          { state: { terminated: { reason: 'Completed' } } },
          { ready: true, state: { running: {} } },
        ],
      }),
    ],
    ['Terminating', pod({ phase: 'Running' }, { metadata: { name: 'x', deletionTimestamp: hourAgo } })],
  ])('says %s', (expected, given) => expect(podStatus(given)).toBe(expected))
})

describe('customColumns', () => {
  const cells = (type: string, value: unknown) =>
    columnsOf(customColumns([{ name: 'C', type, jsonPath: '.spec.v' }]), () => now).cells(
      object({ spec: { v: value } }),
    )[1]

  it.each<[string, unknown, unknown]>([
    ['integer', 3.7, 3],
    ['integer', 'x', null],
    ['number', 1.5, 1.5],
    ['boolean', false, false],
    ['boolean', 'true', null],
    ['string', 7, '7'],
    ['string', ['a'], '["a"]'],
    ['string', null, null],
    ['date', hourAgo, '60m'],
    ['date', 'yesterday', '<invalid>'],
  ])('shows a %s from %j', (type, value, expected) => expect(cells(type, value)).toBe(expected))

  it('has name and age when the definition asks for nothing', () => {
    expect(customColumns([]).map(({ name }) => name)).toEqual(['Name', 'Age'])
  })
})
