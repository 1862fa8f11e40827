import { CreateVolumeCommand, EC2Client } from '@aws-sdk/client-ec2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerKinds } from '../../src/admission/register-kinds.ts'
import { cleanupCandidate } from '../../src/apis/cleanup-candidate.ts'
import { cleanupPolicy } from '../../src/apis/cleanup-policy.ts'
import { providerAccount } from '../../src/apis/provider-account.ts'
import { optInCloud, optOutCloud } from '../../src/app/operations/opt-outs.ts'
import { Client } from '../../src/client/client.ts'
import { namespaces, persistentVolumes, secrets } from '../../src/kube/core-types.ts'
import type { KubeObject, ResourceType } from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import { cloudNameOf, explainCloudResource } from '../../src/app/operations/explain-cloud.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { startTestServer, type TestServer } from '../apiserver/test-server.ts'
import { startMoto, whyNoMoto, type Moto } from './moto.ts'

const missing = await whyNoMoto()
const region = 'eu-west-1'
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }

it('takes the types of cloud resources in any case, and nothing else, for cloud resources', () => {
  expect(cloudNameOf('elasticip/eipalloc-1')).toEqual({ type: 'elasticIp', id: 'eipalloc-1' })
  expect(cloudNameOf('logGroup//app/web')).toEqual({ type: 'logGroup', id: '/app/web' })
  for (const word of ['deployment/web', 'volume', 'volume/']) expect(cloudNameOf(word)).toBeUndefined()
})

describe.skipIf(missing)('explain of a cloud resource', () => {
  let moto: Moto
  let server: TestServer
  let client: Client
  let spare = ''
  let claimed = ''

  const create = (kind: { type: ResourceType; apiVersion: string; kind: string }, name: string, rest: object) => {
    const namespace = kind.type.namespaced ? { namespace: 'sojourn-system' } : {}
    const { apiVersion } = kind
    return client.create(kind.type, {
      apiVersion,
      kind: kind.kind,
      metadata: { name, ...namespace },
      ...rest,
    } as KubeObject)
  }
  const policy = (name: string, spec: object, account = 'main') =>
    create(cleanupPolicy, name, {
      spec: {
        targets: [{ aws: { accounts: [account], resourceTypes: ['volume', 'snapshot'] } }],
        rules: [{ rules: [{ name: 'Unused' }] }],
        minAge: '0',
        retention: { duration: '1h' },
        notification: { required: false },
        ...spec,
      },
    })
  const said = async (id: string) => (await explainCloudResource(client, { type: 'volume', id })).join('\n')

  beforeAll(async () => {
    moto = await startMoto()
    await moto.reset()
    server = await startTestServer({ clock: systemClock })
    client = new Client(server.transport)
    await registerKinds(client)
    const home = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sojourn-system' } }
    await client.create(namespaces, home).catch(ignoring('AlreadyExists'))
    const data = Object.fromEntries(Object.entries(credentials).map(([key, value]) => [key, btoa(value)]))
    await create({ type: secrets, apiVersion: 'v1', kind: 'Secret' }, 'aws', { data })
    const account = { provider: 'aws', regions: [region], endpoint: moto.url }
    await create(providerAccount, 'main', { spec: { ...account, secretRef: { name: 'aws' } } })
    await create(providerAccount, 'ambient', { spec: account })
    const ec2 = new EC2Client({ region, endpoint: moto.url, credentials })
    const volume = async () =>
      (await ec2.send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 100, VolumeType: 'gp3' })))
        .VolumeId ?? ''
    spare = await volume()
    claimed = await volume()
    ec2.destroy()
    await create({ type: persistentVolumes, apiVersion: 'v1', kind: 'PersistentVolume' }, 'data', {
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        csi: { driver: 'ebs.csi.aws.com', volumeHandle: claimed },
      },
    })
    await policy('idle', {})
    await policy('old', { minAge: '10d' })
  })
  afterAll(async () => {
    await server?.close()
    await moto?.[Symbol.asyncDispose]()
  })

  it('gives the verdict of every policy, with what uses the resource', async () => {
    const text = await said(claimed)
    expect(text).toContain(`It is the volume ${claimed} of ProviderAccount main in ${region}: 100 GiB gp3`)
    expect(text).toContain('CleanupPolicy idle does not mark it: rule Unused: in use by PersistentVolume/data.')
    expect(text).toMatch(/CleanupPolicy old does not mark it: it is younger than the policy’s minimum age, until 20/)
    expect(await said('vol-none')).toContain(`CleanupPolicy idle finds no volume vol-none in aws/main/${region}.`)
  })

  it('gives the mark, and takes its name for an opt-out, and for the end of it', async () => {
    await expect(optOutCloud(client, { type: 'volume', id: spare }, {})).rejects.toThrow(/no CleanupPolicy has marked/)
    await create(cleanupCandidate, 'spare', {
      spec: {
        policy: 'idle',
        location: `aws:main:${region}`,
        resource: {
          provider: 'aws',
          account: 'main',
          region,
          apiVersion: 'aws/v1',
          kind: 'volume',
          name: spare,
          uid: spare,
        },
      },
    })
    const text = await said(spare)
    expect(text).toContain('The janitor says Marked (CleanupPolicy idle)')
    expect(text).not.toContain('CleanupPolicy idle does not')
    await optOutCloud(client, { type: 'volume', id: spare }, { reason: 'demo' })
    expect(await said(spare)).toContain('CleanupPolicy old does not mark it: its owner opted out of cleanup')
    expect((await optInCloud(client, { type: 'volume', id: spare }, Date.now())).ended).toHaveLength(1)
    expect(await said(spare)).not.toContain('opted out')
  })

  it('says what it cannot read, and never takes it for unused', async () => {
    await policy('far', {
      suspend: true,
      targets: [{ kubernetes: { clusters: ['team.remote'], resources: [{ kind: 'ConfigMap' }] } }],
    })
    expect(await said(claimed)).toContain(
      'CleanupPolicy idle neither marks nor unmarks it: its use is unknown: cluster team.remote cannot be read from here.',
    )
    await policy('elsewhere', {}, 'ambient')
    expect(await said('vol-none')).toContain(
      'CleanupPolicy elsewhere targets accounts whose credentials only the janitor has.',
    )
  })
})
