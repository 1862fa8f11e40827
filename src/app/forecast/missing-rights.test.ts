import { afterAll, beforeAll, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import type { ForecastEvent } from '../../forecast/event.ts'
import type { KubeObject } from '../../kube/object.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { missingRights } from './missing-rights.ts'

const user = `system:serviceaccount:${sojournNamespace}:sojourn-cleaner`
const rbac = 'rbac.authorization.k8s.io'
/** The cleaner of an installation runs, and may delete ConfigMaps in one namespace. */
const installation: readonly KubeObject[] = [
  ...[sojournNamespace, 'team', 'other'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
  {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'sojourn-cleaner', namespace: sojournNamespace, annotations: { 'sojourn.dev/user': user } },
    spec: { holderIdentity: 'pod' },
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata: { name: 'delete', namespace: 'team' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['delete'] }],
  },
  {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'delete', namespace: 'team' },
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'delete' },
    subjects: [{ kind: 'ServiceAccount', name: 'sojourn-cleaner', namespace: sojournNamespace }],
  },
]

let server: TestServer
let client: Client
beforeAll(async () => {
  server = await startTestServer({ clock: systemClock })
  client = new Client(server.transport)
  for (const manifest of installation) await client.create((await client.discovery.typeOf(manifest))!, manifest)
})
afterAll(() => server?.close())

const deletion = (namespace: string, more: Partial<ForecastEvent> = {}) =>
  ({
    what: 'leaves',
    system: 'cleaner',
    object: { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'old' },
    ...more,
  }) as ForecastEvent

it('names each right that the installed account lacks for a foretold deletion, once', async () => {
  const events = [deletion('team'), deletion('other'), deletion('other')]
  expect(await missingRights(client, events)).toEqual([
    `${user} may not delete configmaps in namespace other: the cleaner will keep them`,
  ])
})

it.each([
  ['is not of a system that runs in the cluster', { system: 'janitor' }],
  ['is no deletion', { what: 'sleeps' }],
] as const)('names none for what %s', async (_, more) => {
  expect(await missingRights(client, [deletion('other', more as Partial<ForecastEvent>)])).toEqual([])
})
