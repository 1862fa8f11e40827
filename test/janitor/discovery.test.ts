import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  AutoScalingClient,
  CreateAutoScalingGroupCommand,
  CreateLaunchConfigurationCommand,
  DescribeAutoScalingGroupsCommand,
} from '@aws-sdk/client-auto-scaling'
import { EC2Client, RegisterImageCommand } from '@aws-sdk/client-ec2'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderAccount } from '../../src/apis/provider-account.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { defaultPrices } from '../../src/prices/prices.ts'
import { AwsProvider } from '../../src/systems/janitor/aws/aws-provider.ts'
import { describe as described, judge, noHistory } from '../../src/systems/janitor/verdict/judge.ts'
import { policy } from './fixtures.ts'
import { startMoto, whyNoMoto, type Moto } from './moto.ts'
import { localNetwork } from '../local-network.ts'

const missing = await whyNoMoto()
if (missing) console.warn(`\n*** Tests of discovery with AWS are SKIPPED: ${missing}\n`)

const region = 'eu-west-1'
const day = 86_400_000

describe.skipIf(missing)('NotInDiscoveryRule', () => {
  let moto: Moto
  let eureka: Server
  let instance: string
  /** What the registry answers; undefined: that it is out of order. */
  let status: string | undefined

  beforeAll(async () => {
    moto = await startMoto()
    const config = { region, endpoint: moto.url, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }
    const { ImageId } = await new EC2Client(config).send(
      new RegisterImageCommand({ Name: 'web', RootDeviceName: '/dev/sda1' }),
    )
    const autoScaling = new AutoScalingClient(config)
    await autoScaling.send(
      new CreateLaunchConfigurationCommand({ LaunchConfigurationName: 'web', ImageId, InstanceType: 't3.micro' }),
    )
    await autoScaling.send(
      new CreateAutoScalingGroupCommand({
        AutoScalingGroupName: 'web-v001',
        LaunchConfigurationName: 'web',
        MinSize: 1,
        MaxSize: 1,
        AvailabilityZones: [`${region}a`],
      }),
    )
    const { AutoScalingGroups = [] } = await autoScaling.send(new DescribeAutoScalingGroupsCommand({}))
    instance = AutoScalingGroups[0]?.Instances?.[0]?.InstanceId ?? ''
    eureka = createServer((_, response) => {
      const lastUpdatedTimestamp = String(Date.now() - 2 * day - 60_000)
      const application = [{ name: 'WEB', instance: [{ instanceId: instance, status, lastUpdatedTimestamp }] }]
      response.writeHead(status ? 200 : 503).end(JSON.stringify({ applications: { application } }))
    })
    await new Promise<void>((resolve) => eureka.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    eureka?.closeAllConnections()
    await new Promise((resolve) => (eureka ? eureka.close(resolve) : resolve(undefined)))
    await moto?.[Symbol.asyncDispose]()
  })

  async function verdict(parameters: Record<string, unknown>) {
    const { port } = eureka.address() as AddressInfo
    const account = {
      metadata: { name: 'main', generation: 1 },
      spec: {
        provider: 'aws',
        regions: [region],
        endpoint: moto.url,
        secretRef: { name: 'aws' },
        eurekaUrl: `http://127.0.0.1:${port}/eureka/v2`,
      },
    } as ProviderAccount
    const provider = new AwsProvider({
      prices: defaultPrices,
      clock: systemClock,
      network: localNetwork(),
      accounts: () => [account],
      secret: async () => ({ accessKeyId: 'test', secretAccessKey: 'test' }),
    })
    const compiled = policy({
      minAge: '0',
      targets: [{ aws: { accounts: ['main'], resourceTypes: ['serverGroup'] } }],
      rules: [{ rules: [{ name: 'NotInDiscoveryRule', parameters }] }],
    })
    const { resources } = await provider.observe({
      policy: compiled,
      location: `aws/main/${region}`,
      signal: new AbortController().signal,
    })
    provider.close()
    const [group] = resources
    if (!group) throw new Error('AWS has no group')
    const around = { protection: () => undefined, owners: {}, ledger: noHistory, now: Date.now() }
    return judge(described(group, compiled, {}), compiled, around).is
  }

  it.each([
    ['OUT_OF_SERVICE', {}, 'violating'],
    ['OUT_OF_SERVICE', { moreThanDays: 1 }, 'violating'],
    ['OUT_OF_SERVICE', { moreThanDays: 3 }, 'compliant'],
    ['UP', {}, 'compliant'],
    [undefined, {}, 'unknown'],
  ])('C55: of a group whose instance has been %s for two days, with %o, finds it %s', async (now, given, expected) => {
    status = now
    expect(await verdict(given)).toBe(expected)
  })
})
