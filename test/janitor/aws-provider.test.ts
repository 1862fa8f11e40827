import {
  AutoScalingClient,
  CreateAutoScalingGroupCommand,
  CreateLaunchConfigurationCommand,
  PutScheduledUpdateGroupActionCommand,
} from '@aws-sdk/client-auto-scaling'
import {
  AuthorizeSecurityGroupIngressCommand,
  CreateLaunchTemplateCommand,
  CreateLaunchTemplateVersionCommand,
  CreateNetworkInterfaceCommand,
  CreateSecurityGroupCommand,
  CreateSnapshotCommand,
  CreateVolumeCommand,
  DescribeSubnetsCommand,
  DescribeImagesCommand,
  EC2Client,
  ModifyImageAttributeCommand,
  RegisterImageCommand,
  RunInstancesCommand,
  CreateImageCommand,
} from '@aws-sdk/client-ec2'
import {
  CreateLoadBalancerCommand as CreateClassicCommand,
  ElasticLoadBalancingClient,
} from '@aws-sdk/client-elastic-load-balancing'
import {
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  ElasticLoadBalancingV2Client,
  ModifyLoadBalancerAttributesCommand,
  RegisterTargetsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AwsTypeName } from '../../src/apis/cleanup-policy.ts'
import type { ProviderAccount } from '../../src/apis/provider-account.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { awsTypes } from '../../src/systems/janitor/aws/aws-types.ts'
import { defaultPrices } from '../../src/prices/prices.ts'
import { AwsProvider } from '../../src/systems/janitor/aws/aws-provider.ts'
import { InventoryError, type Resource } from '../../src/systems/janitor/model/resource.ts'
import { furnishCosts } from './aws-account.ts'
import { policy } from './fixtures.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'
import { startMoto, whyNoMoto, type Moto } from './moto.ts'
import { localNetwork } from '../local-network.ts'

const missing = await whyNoMoto()
const region = 'eu-west-1'

describe.skipIf(missing)('AWS', () => {
  let moto: Moto
  let proxy: FaultProxy
  let provider: AwsProvider
  const config = () => ({ region, endpoint: moto.url, credentials: { accessKeyId: 'test', secretAccessKey: 'test' } })
  const ec2 = () => new EC2Client(config())
  const autoScaling = () => new AutoScalingClient(config())

  beforeAll(async () => {
    moto = await startMoto()
    proxy = await startFaultProxy(moto.url)
  })
  beforeEach(async () => {
    await moto.reset()
    proxy.fault = () => undefined
    proxy.rewrite = (_, text) => text
    proxy.calls.length = 0
    provider?.close()
    provider = providerWith({})
  })
  afterAll(async () => {
    provider?.close()
    await proxy?.[Symbol.asyncDispose]()
    await moto?.[Symbol.asyncDispose]()
  })

  function providerWith(more: Record<string, Partial<ProviderAccount['spec']>>): AwsProvider {
    const account = (name: string, spec: Partial<ProviderAccount['spec']>) =>
      ({
        metadata: { name, generation: 1 },
        spec: { provider: 'aws', regions: [region], endpoint: proxy.url, secretRef: { name: 'aws' }, ...spec },
      }) as ProviderAccount
    const accounts = [account('main', {}), ...Object.entries(more).map(([name, spec]) => account(name, spec))]
    return new AwsProvider({
      prices: defaultPrices,
      clock: systemClock,
      network: localNetwork(),
      accounts: () => accounts,
      secret: async () => ({ accessKeyId: 'test', secretAccessKey: 'test' }),
    })
  }

  const policyOf = (...resourceTypes: AwsTypeName[]) =>
    policy({ targets: [{ aws: { accounts: ['main'], resourceTypes } }] })
  const observe = async (...types: AwsTypeName[]) =>
    (
      await provider.observe({
        policy: policyOf(...types),
        location: `aws/main/${region}`,
        signal: new AbortController().signal,
      })
    ).resources
  const uses = (resources: readonly Resource[]) =>
    Object.fromEntries(resources.map(({ facts, name, use }) => [facts?.name ?? name, use.state]))

  async function image(name: string): Promise<string> {
    const { ImageId = '' } = await ec2().send(
      new RegisterImageCommand({
        Name: name,
        RootDeviceName: '/dev/sda1',
        BlockDeviceMappings: [{ DeviceName: '/dev/sda1', Ebs: { VolumeSize: 1 } }],
      }),
    )
    return ImageId
  }

  /** One idle resource of each type. */
  async function furnish(): Promise<void> {
    const ami = await image('base')
    const { VolumeId } = await ec2().send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 1 }))
    await ec2().send(new CreateSnapshotCommand({ VolumeId }))
    await autoScaling().send(
      new CreateLaunchConfigurationCommand({ LaunchConfigurationName: 'lc', ImageId: ami, InstanceType: 't3.small' }),
    )
    await ec2().send(
      new CreateLaunchTemplateCommand({ LaunchTemplateName: 'lt', LaunchTemplateData: { ImageId: ami } }),
    )
    await autoScaling().send(
      new CreateAutoScalingGroupCommand({
        AutoScalingGroupName: 'empty',
        LaunchConfigurationName: 'lc',
        MinSize: 0,
        MaxSize: 1,
        DesiredCapacity: 0,
        AvailabilityZones: [`${region}a`],
      }),
    )
    await new ElasticLoadBalancingClient(config()).send(
      new CreateClassicCommand({
        LoadBalancerName: 'classic',
        Listeners: [{ Protocol: 'HTTP', LoadBalancerPort: 80, InstancePort: 80 }],
        AvailabilityZones: [`${region}a`],
      }),
    )
    const { Subnets = [] } = await ec2().send(new DescribeSubnetsCommand({}))
    await new ElasticLoadBalancingV2Client(config()).send(
      new CreateLoadBalancerCommand({
        Name: 'modern',
        Subnets: Subnets.slice(0, 2).map(({ SubnetId = '' }) => SubnetId),
      }),
    )
    await ec2().send(
      new CreateSecurityGroupCommand({ GroupName: 'idle', Description: 'idle', VpcId: Subnets[0]?.VpcId }),
    )
  }

  it('C50: lists its locations and refuses an account with another id', async () => {
    expect(provider.locations(policyOf('image'))).toEqual([`aws/main/${region}`])
    provider = providerWith({ other: { accountId: '999999999999' } })
    const wrong = policy({ targets: [{ aws: { accounts: ['other'], resourceTypes: ['image'] } }] })
    const looking = provider.observe({
      policy: wrong,
      location: `aws/other/${region}`,
      signal: new AbortController().signal,
    })
    await expect(looking).rejects.toThrow('belong to account')
  })

  it('C56: sees images used by instances, launch configurations and any template version a group names', async () => {
    const ids = Object.fromEntries(
      await Promise.all(
        ['by-instance', 'by-config', 'by-latest', 'by-version', 'unused'].map(async (name) => [
          name,
          await image(name),
        ]),
      ),
    )
    await ec2().send(new RunInstancesCommand({ ImageId: ids['by-instance'], MinCount: 1, MaxCount: 1 }))
    await autoScaling().send(
      new CreateLaunchConfigurationCommand({
        LaunchConfigurationName: 'lc',
        ImageId: ids['by-config'],
        InstanceType: 't3.small',
      }),
    )
    await ec2().send(
      new CreateLaunchTemplateCommand({ LaunchTemplateName: 'lt', LaunchTemplateData: { ImageId: ids['by-version'] } }),
    )
    await ec2().send(
      new CreateLaunchTemplateVersionCommand({
        LaunchTemplateName: 'lt',
        LaunchTemplateData: { ImageId: ids['by-latest'] },
      }),
    )
    expect(uses(await observe('image'))).toEqual({
      'by-instance': 'used',
      'by-config': 'used',
      'by-latest': 'used',
      'by-version': 'used',
      unused: 'unused',
    })
  })

  it('C56: reports every type of user of an image', async () => {
    const ami = await image('popular')
    await ec2().send(new RunInstancesCommand({ ImageId: ami, MinCount: 2, MaxCount: 2 }))
    await ec2().send(
      new CreateLaunchTemplateCommand({ LaunchTemplateName: 'lt', LaunchTemplateData: { ImageId: ami } }),
    )
    const [popular] = await observe('image')
    expect(popular?.facts).toMatchObject({
      usedByInstances: true,
      usedByLaunchConfigurations: false,
      usedByLaunchTemplates: true,
    })
  })

  it('C57: counts a snapshot that only a launch template maps as used', async () => {
    const { VolumeId } = await ec2().send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 1 }))
    const { SnapshotId } = await ec2().send(new CreateSnapshotCommand({ VolumeId }))
    const BlockDeviceMappings = [{ DeviceName: '/dev/sdb', Ebs: { SnapshotId } }]
    await ec2().send(
      new CreateLaunchTemplateCommand({ LaunchTemplateName: 'lt', LaunchTemplateData: { BlockDeviceMappings } }),
    )
    const [snapshot] = await observe('snapshot')
    expect(snapshot).toMatchObject({ name: SnapshotId, use: { state: 'used' }, facts: { imageExists: true } })
  })

  it('C56 E11: reports unknown use when an account of the region cannot be read', async () => {
    await image('shared')
    await ec2().send(
      new CreateLaunchTemplateCommand({ LaunchTemplateName: 'lt', LaunchTemplateData: { ImageId: 'ami-1' } }),
    )
    proxy.fault = (action) =>
      action === 'DescribeInstances' ? { status: 403, code: 'UnauthorizedOperation' } : undefined
    const [seen] = await observe('image')
    expect(seen?.use).toMatchObject({ state: 'unknown', because: expect.stringContaining('UnauthorizedOperation') })
  })

  it('E25: reports unknown use of images shared with unknown accounts', async () => {
    const share = async (name: string, permission: { UserId?: string; Group?: 'all' }) =>
      ec2().send(
        new ModifyImageAttributeCommand({
          ImageId: await image(name),
          Attribute: 'launchPermission',
          LaunchPermission: { Add: [permission] },
        }),
      )
    await share('golden', { UserId: '999988887777' })
    await share('public', { Group: 'all' })
    await share('known', { UserId: '111122223333' })
    await image('own')
    provider = providerWith({ other: { roleArn: 'arn:aws:iam::111122223333:role/janitor' } })
    expect(uses(await observe('image'))).toEqual({
      golden: 'unknown',
      public: 'unknown',
      known: 'unused',
      own: 'unused',
    })
    proxy.fault = (action) =>
      action === 'DescribeImageAttribute' ? { status: 403, code: 'UnauthorizedOperation' } : undefined
    expect(new Set(Object.values(uses(await observe('image'))))).toEqual(new Set(['unknown']))
  })

  it('E25: excludes what a backup plan manages', async () => {
    const { VolumeId } = await ec2().send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 1 }))
    const TagSpecifications = [{ ResourceType: 'snapshot' as const, Tags: [{ Key: 'plan', Value: 'policy-1' }] }]
    await ec2().send(new CreateSnapshotCommand({ VolumeId, TagSpecifications }))
    expect((await observe('snapshot')).map(({ shield }) => shield)).toEqual([undefined])
    // Only AWS itself may write such a tag.
    for (const key of ['aws:dlm:lifecycle-policy-id', 'aws:backup:source-resource']) {
      proxy.rewrite = (_, text) => text.replaceAll('<key>plan</key>', `<key>${key}</key>`)
      expect((await observe('snapshot')).map(({ shield }) => shield?.because)).toEqual(['shielded'])
    }
  })

  it.each(['loadBalancer', 'loadBalancerV2'] as const)(
    'E9: a %s whose tags were not told is no complete listing, for they might say that it stays',
    async (type) => {
      await furnish()
      proxy.rewrite = (action, text) =>
        action === 'DescribeTags'
          ? text.replace(/<TagDescriptions>[\s\S]*<\/TagDescriptions>/, '<TagDescriptions/>')
          : text
      await expect(observe(type)).rejects.toThrow(InventoryError)
    },
  )

  it('E7: detects a tag added after the inventory as a change', async () => {
    await furnish()
    const [balancer] = await observe('loadBalancerV2')
    if (!balancer) throw new Error('there is none')
    const ref = {
      provider: 'aws',
      account: 'main',
      region,
      apiVersion: 'aws/v1',
      kind: balancer.kind,
      name: balancer.name,
      uid: balancer.uid,
    } as const
    await provider.setNeverExpires(ref, true)
    const subject = await provider.subject(ref)
    const removal = {
      uid: balancer.uid,
      resourceVersion: balancer.resourceVersion ?? '',
      propagation: 'Background',
    } as const
    expect(await subject.remove(removal)).toBe('changed')
  })

  it('assumes the role of another account and lists it, too', async () => {
    provider = providerWith({ other: { roleArn: 'arn:aws:iam::222222222222:role/janitor', accountId: '222222222222' } })
    await image('main-image')
    await observe('image')
    expect(proxy.calls.map(({ action }) => action)).toContain('AssumeRole')
  })

  it('C57: sees snapshots that images map, and keeps all others while it cannot list images', async () => {
    const { VolumeId } = await ec2().send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 1 }))
    const { SnapshotId } = await ec2().send(new CreateSnapshotCommand({ VolumeId }))
    const ami = await image('base')
    const { Instances = [] } = await ec2().send(new RunInstancesCommand({ ImageId: ami, MinCount: 1, MaxCount: 1 }))
    const { ImageId } = await ec2().send(new CreateImageCommand({ InstanceId: Instances[0]?.InstanceId, Name: 'made' }))
    const { Images = [] } = await ec2().send(new DescribeImagesCommand({ ImageIds: [ImageId ?? ''] }))
    const mapped = Images[0]?.BlockDeviceMappings?.[0]?.Ebs?.SnapshotId ?? ''
    expect(uses(await observe('snapshot'))).toMatchObject({ [SnapshotId ?? '']: 'unused', [mapped]: 'used' })
    proxy.fault = (action) => (action === 'DescribeImages' ? { status: 500, code: 'InternalError' } : undefined)
    expect(new Set(Object.values(uses(await observe('snapshot'))))).toEqual(new Set(['unknown']))
  })

  it('C57: tells groups with instances from empty ones, and what they start from', async () => {
    const ami = await image('base')
    await autoScaling().send(
      new CreateLaunchConfigurationCommand({
        LaunchConfigurationName: 'used-lc',
        ImageId: ami,
        InstanceType: 't3.small',
      }),
    )
    await autoScaling().send(
      new CreateLaunchConfigurationCommand({
        LaunchConfigurationName: 'idle-lc',
        ImageId: ami,
        InstanceType: 't3.small',
      }),
    )
    for (const LaunchTemplateName of ['mixed', 'idle'])
      await ec2().send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName,
          LaunchTemplateData: { ImageId: ami, InstanceType: 't3.small' },
        }),
      )
    const group = { MinSize: 0, MaxSize: 2, AvailabilityZones: [`${region}a`] }
    await autoScaling().send(
      new CreateAutoScalingGroupCommand({
        AutoScalingGroupName: 'busy-v001',
        LaunchConfigurationName: 'used-lc',
        ...group,
        DesiredCapacity: 1,
      }),
    )
    await autoScaling().send(
      new CreateAutoScalingGroupCommand({
        AutoScalingGroupName: 'empty-v001',
        MixedInstancesPolicy: {
          LaunchTemplate: { LaunchTemplateSpecification: { LaunchTemplateName: 'mixed', Version: '1' } },
        },
        ...group,
        DesiredCapacity: 0,
      }),
    )
    await autoScaling().send(
      new CreateAutoScalingGroupCommand({
        AutoScalingGroupName: 'asleep-v001',
        LaunchConfigurationName: 'used-lc',
        ...group,
        DesiredCapacity: 0,
      }),
    )
    await autoScaling().send(
      new PutScheduledUpdateGroupActionCommand({
        AutoScalingGroupName: 'asleep-v001',
        ScheduledActionName: 'every-morning',
        Recurrence: '0 7 * * 1-5',
        DesiredCapacity: 2,
      }),
    )
    expect(uses(await observe('serverGroup'))).toEqual({
      'asleep-v001': 'used',
      'busy-v001': 'used',
      'empty-v001': 'unused',
    })
    expect(uses(await observe('launchConfiguration'))).toEqual({ 'used-lc': 'used', 'idle-lc': 'unused' })
    expect(uses(await observe('launchTemplate'))).toEqual({ mixed: 'used', idle: 'unused' })
    const busy = (await observe('serverGroup')).find(({ name }) => name === 'busy-v001')
    expect(busy).toMatchObject({ group: 'busy', facts: { isDisabled: false, loadBalancers: [] } })
  })

  it('E25: tells load balancers with targets from those without', async () => {
    const elb = new ElasticLoadBalancingClient(config())
    const elbV2 = new ElasticLoadBalancingV2Client(config())
    const Listeners = [{ Protocol: 'HTTP', LoadBalancerPort: 80, InstancePort: 80 }]
    for (const LoadBalancerName of ['used-classic', 'idle-classic'])
      await elb.send(new CreateClassicCommand({ LoadBalancerName, Listeners, AvailabilityZones: [`${region}a`] }))
    const ami = await image('base')
    await autoScaling().send(
      new CreateLaunchConfigurationCommand({ LaunchConfigurationName: 'lc', ImageId: ami, InstanceType: 't3.small' }),
    )
    await autoScaling().send(
      new CreateAutoScalingGroupCommand({
        AutoScalingGroupName: 'g',
        LaunchConfigurationName: 'lc',
        MinSize: 0,
        MaxSize: 1,
        DesiredCapacity: 0,
        AvailabilityZones: [`${region}a`],
        LoadBalancerNames: ['used-classic'],
      }),
    )
    const { Subnets = [] } = await ec2().send(new DescribeSubnetsCommand({}))
    const [first, second] = Subnets
    const arns = await Promise.all(
      ['used', 'idle', 'kept', 'leads-on', 'says-no'].map(async (Name) => {
        const { LoadBalancers = [] } = await elbV2.send(
          new CreateLoadBalancerCommand({ Name, Subnets: [first?.SubnetId ?? '', second?.SubnetId ?? ''] }),
        )
        return LoadBalancers[0]?.LoadBalancerArn ?? ''
      }),
    )
    const { TargetGroups = [] } = await elbV2.send(
      new CreateTargetGroupCommand({ Name: 'tg', Protocol: 'HTTP', Port: 80, VpcId: first?.VpcId }),
    )
    await elbV2.send(
      new CreateListenerCommand({
        LoadBalancerArn: arns[0],
        Protocol: 'HTTP',
        Port: 80,
        DefaultActions: [{ Type: 'forward', TargetGroupArn: TargetGroups[0]?.TargetGroupArn }],
      }),
    )
    const actions = [
      { Type: 'redirect', RedirectConfig: { Protocol: 'HTTPS', StatusCode: 'HTTP_301' } },
      { Type: 'fixed-response', FixedResponseConfig: { StatusCode: '404' } },
    ] as const
    for (const [index, action] of actions.entries())
      await elbV2.send(
        new CreateListenerCommand({
          LoadBalancerArn: arns[index + 3],
          Protocol: 'HTTP',
          Port: 80,
          DefaultActions: [action],
        }),
      )
    const { Instances = [] } = await ec2().send(new RunInstancesCommand({ ImageId: ami, MinCount: 1, MaxCount: 1 }))
    await elbV2.send(
      new RegisterTargetsCommand({
        TargetGroupArn: TargetGroups[0]?.TargetGroupArn,
        Targets: [{ Id: Instances[0]?.InstanceId ?? '' }],
      }),
    )
    await elbV2.send(
      new ModifyLoadBalancerAttributesCommand({
        LoadBalancerArn: arns[2],
        Attributes: [{ Key: 'deletion_protection.enabled', Value: 'true' }],
      }),
    )
    expect(uses(await observe('loadBalancer'))).toEqual({ 'used-classic': 'used', 'idle-classic': 'unused' })
    const modern = await observe('loadBalancerV2')
    expect(uses(modern)).toEqual({
      used: 'used',
      idle: 'unused',
      kept: 'unused',
      'leads-on': 'used',
      'says-no': 'unused',
    })
    expect(modern.find(({ facts }) => facts?.name === 'kept')?.shield?.because).toBe('shielded')
  })

  it('sees security groups used by interfaces and rules, but not by themselves', async () => {
    const ids: Record<string, string> = {}
    const { Subnets = [] } = await ec2().send(new DescribeSubnetsCommand({}))
    for (const GroupName of ['interface', 'named', 'naming', 'selfish', 'idle']) {
      const { GroupId = '' } = await ec2().send(
        new CreateSecurityGroupCommand({ GroupName, Description: GroupName, VpcId: Subnets[0]?.VpcId }),
      )
      ids[GroupName] = GroupId
    }
    await ec2().send(
      new CreateNetworkInterfaceCommand({ SubnetId: Subnets[0]?.SubnetId, Groups: [ids.interface ?? ''] }),
    )
    const rule = (group: string, other: string) =>
      ec2().send(
        new AuthorizeSecurityGroupIngressCommand({
          GroupId: ids[group],
          IpPermissions: [{ IpProtocol: 'tcp', FromPort: 1, ToPort: 1, UserIdGroupPairs: [{ GroupId: ids[other] }] }],
        }),
      )
    await rule('naming', 'named')
    await rule('selfish', 'selfish')
    expect(uses(await observe('securityGroup'))).toMatchObject({
      interface: 'used',
      named: 'used',
      naming: 'unused',
      selfish: 'unused',
      idle: 'unused',
    })
    const groups = await observe('securityGroup')
    expect(groups.every(({ createdAt }) => createdAt === undefined)).toBe(true)
    expect(groups.find(({ facts }) => facts?.name === 'default')?.shield).toBeDefined()
  })

  describe('listings', () => {
    it('E9: are refused when a page is truncated without a token', async () => {
      for (let index = 0; index < 201; index++)
        await ec2().send(new CreateLaunchTemplateCommand({ LaunchTemplateName: `lt-${index}`, LaunchTemplateData: {} }))
      await expect(observe('launchTemplate')).rejects.toThrow('the listing is truncated')
    })

    it.each([
      ['a refusal', { status: 403, code: 'UnauthorizedOperation' }],
      ['an answer that breaks off', 'cut'],
      ['no answer', 'drop'],
    ] as const)('E9: are refused on %s', async (_, fault) => {
      await image('one')
      await observe('image')
      proxy.fault = (action) => (action === 'DescribeImages' ? fault : undefined)
      await expect(observe('image')).rejects.toThrow(InventoryError)
    })

    it.each(Object.keys(awsTypes) as AwsTypeName[])(
      'E9: of %s are refused, or leave its use unknown, wherever an answer is missing',
      async (type) => {
        await furnish()
        await furnishCosts(config(), Date.now())
        const whole = await observe(type)
        const actions = new Set(proxy.calls.map(({ action }) => action))
        expect(whole.length).toBeGreaterThan(0)
        for (const action of [...actions].filter((name) => !/Caller|AssumeRole/.test(name))) {
          proxy.fault = (name) => (name === action ? { status: 403, code: 'UnauthorizedOperation' } : undefined)
          const seen = await observe(type).catch((error: unknown) => {
            expect(error).toBeInstanceOf(InventoryError)
            return []
          })
          expect(
            seen.filter(({ use }) => use.state === 'unused'),
            `${type} without ${action}`,
          ).toEqual([])
        }
      },
    )

    it('wait out throttling', async () => {
      await image('one')
      let refusals = 2
      proxy.fault = (action) =>
        action === 'DescribeImages' && refusals-- > 0 ? { status: 503, code: 'RequestLimitExceeded' } : undefined
      expect(await observe('image')).toHaveLength(1)
    })
  })

  it('gives the door one resource: deleted once, never twice, never another', async () => {
    const id = await image('one')
    const ref = {
      provider: 'aws',
      account: 'main',
      region,
      apiVersion: 'aws/v1',
      kind: 'image',
      name: id,
      uid: id,
    } as const
    const subject = await provider.subject(ref)
    const object = await subject.read()
    const { resourceVersion = '' } = object?.metadata ?? {}
    expect(await subject.remove({ uid: id, resourceVersion: 'another' })).toBe('changed')
    expect(await subject.remove({ uid: id, resourceVersion })).toBe('gone')
    expect(await subject.read()).toBeUndefined()
    expect(await subject.remove({ uid: id, resourceVersion })).toBe('gone')
    expect(proxy.writes()).toEqual(['DeregisterImage'])
  })

  it('C57: deletes one of each type with one call, and sees that it is absent', async () => {
    await furnish()
    const expected = {
      snapshot: 'DeleteSnapshot',
      serverGroup: 'DeleteAutoScalingGroup',
      launchConfiguration: 'DeleteLaunchConfiguration',
      launchTemplate: 'DeleteLaunchTemplate',
      loadBalancer: 'DeleteLoadBalancer',
      loadBalancerV2: 'DeleteLoadBalancer',
      securityGroup: 'DeleteSecurityGroup',
      image: 'DeregisterImage',
    } as const
    for (const [type, call] of Object.entries(expected)) {
      const [thing] = (await observe(type as AwsTypeName)).filter(
        ({ use, shield, facts }) => use.state === 'unused' && !shield && facts?.isDefault !== true,
      )
      if (!thing) throw new Error(`no ${type} is unused`)
      const { kind, name, uid, apiVersion } = thing
      const subject = await provider.subject({ provider: 'aws', account: 'main', region, apiVersion, kind, name, uid })
      proxy.calls.length = 0
      expect(await subject.remove({ uid, resourceVersion: thing.resourceVersion ?? '' }), type).toBe('gone')
      expect(await subject.read(), type).toBeUndefined()
      expect(proxy.writes()).toEqual([call])
    }
  })

  it('mirrors an opt-out as a tag and removes it', async () => {
    const id = await image('one')
    const ref = {
      provider: 'aws',
      account: 'main',
      region,
      apiVersion: 'aws/v1',
      kind: 'image',
      name: id,
      uid: id,
    } as const
    expect(await provider.setNeverExpires(ref, true)).toBe(true)
    expect((await observe('image'))[0]?.tags).toEqual({ expiration_time: 'never' })
    await provider.setNeverExpires(ref, false)
    expect((await observe('image'))[0]?.tags).toEqual({})
    expect(await provider.setNeverExpires({ ...ref, name: 'ami-00000000' }, true)).toBe(false)
  })
})
