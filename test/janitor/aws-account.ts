import { CloudWatchClient, PutMetricDataCommand } from '@aws-sdk/client-cloudwatch'
import {
  CloudWatchLogsClient,
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  PutLogEventsCommand,
} from '@aws-sdk/client-cloudwatch-logs'
import {
  AllocateAddressCommand,
  AttachVolumeCommand,
  CreateNatGatewayCommand,
  CreateNetworkInterfaceCommand,
  CreateRouteCommand,
  CreateRouteTableCommand,
  CreateSnapshotCommand,
  CreateVolumeCommand,
  DescribeImagesCommand,
  DescribeSubnetsCommand,
  EC2Client,
  ModifySnapshotAttributeCommand,
  RegisterImageCommand,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2'
import { CreateRepositoryCommand, ECRClient, PutImageCommand } from '@aws-sdk/client-ecr'
import { CreateLoadBalancerCommand, ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing'
import {
  CreateListenerCommand,
  CreateLoadBalancerCommand as CreateBalancerV2Command,
  CreateTargetGroupCommand,
  ElasticLoadBalancingV2Client,
  RegisterTargetsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2'
import { ECSClient, RegisterTaskDefinitionCommand } from '@aws-sdk/client-ecs'
import {
  CreateDBInstanceCommand,
  CreateDBInstanceReadReplicaCommand,
  CreateDBSnapshotCommand,
  ModifyDBSnapshotAttributeCommand,
  RDSClient,
} from '@aws-sdk/client-rds'

export interface AccountConfig {
  readonly region: string
  readonly endpoint: string
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string }
}

/** What costs money in the account: by type, the names by the id that AWS gave them. */
export type Names = Map<string, string>

/** Fills an account of moto with resources that cost, used and unused. `now` is the time at which it will be judged. */
export async function furnishCosts(config: AccountConfig, now: number): Promise<Names> {
  const names: Names = new Map()
  const named = (id: string | undefined, name: string) => {
    names.set(id ?? '', name)
    return id ?? ''
  }
  await furnishNetwork(config, now, named)
  await furnishBalancers(config, named)
  await furnishDatabases(config, now)
  await furnishLogs(config)
  await furnishImages(config, named)
  return names
}

type Named = (id: string | undefined, name: string) => string

async function furnishNetwork(config: AccountConfig, now: number, named: Named): Promise<void> {
  const ec2 = new EC2Client(config)
  const zone = `${config.region}a`
  const { ImageId } = await ec2.send(new RegisterImageCommand({ Name: 'base', RootDeviceName: '/dev/sda1' }))
  const { Images: [image] = [] } = await ec2.send(new DescribeImagesCommand({ ImageIds: [ImageId ?? ''] }))
  named(image?.BlockDeviceMappings?.[0]?.Ebs?.SnapshotId, 'of-image')
  const { Instances: [instance] = [] } = await ec2.send(
    new RunInstancesCommand({ ImageId, MinCount: 1, MaxCount: 1, Placement: { AvailabilityZone: zone } }),
  )
  for (const { Ebs } of instance?.BlockDeviceMappings ?? []) named(Ebs?.VolumeId, 'root')
  const volume = async (name: string, tag: string) => {
    const TagSpecifications = [{ ResourceType: 'volume' as const, Tags: [{ Key: tag, Value: name }] }]
    const { VolumeId } = await ec2.send(
      new CreateVolumeCommand({ AvailabilityZone: zone, Size: 100, VolumeType: 'gp3', TagSpecifications }),
    )
    return named(VolumeId, name)
  }
  const VolumeId = await volume('attached', 'Name')
  await ec2.send(new AttachVolumeCommand({ VolumeId, InstanceId: instance?.InstanceId, Device: '/dev/sdf' }))
  const source = await volume('left-over', 'Name')
  await volume('of-a-claim', 'Name')
  await volume('of-another-cluster', 'kubernetes.io/created-for/pv/name')
  for (const [name, Key] of [
    ['spare', 'Name'],
    ['shared', 'Name'],
    ['of-a-volume-snapshot', 'CSIVolumeSnapshotName'],
    ['of-a-content-by-hand', 'Name'],
    ['of-a-backup', 'velero.io/backup'],
  ] as const) {
    const TagSpecifications = [{ ResourceType: 'snapshot' as const, Tags: [{ Key, Value: name }] }]
    const { SnapshotId } = await ec2.send(new CreateSnapshotCommand({ VolumeId: source, TagSpecifications }))
    named(SnapshotId, name)
    const share = { SnapshotId, Attribute: 'createVolumePermission', OperationType: 'add', UserIds: ['999999999999'] }
    if (name === 'shared') await ec2.send(new ModifySnapshotAttributeCommand(share as { SnapshotId: string }))
  }

  const { Subnets: [subnet] = [] } = await ec2.send(new DescribeSubnetsCommand({}))
  const SubnetId = subnet?.SubnetId
  const address = async (name: string) =>
    named((await ec2.send(new AllocateAddressCommand({ Domain: 'vpc' }))).AllocationId, name)
  await address('idle-address')
  for (const name of ['routed', 'quiet', 'new', 'unrouted']) {
    const AllocationId = await address(`address-of-${name}`)
    const { NatGateway } = await ec2.send(new CreateNatGatewayCommand({ SubnetId, AllocationId }))
    const id = named(NatGateway?.NatGatewayId, name)
    if (name === 'unrouted') continue
    const { RouteTable } = await ec2.send(new CreateRouteTableCommand({ VpcId: subnet?.VpcId }))
    const route = { RouteTableId: RouteTable?.RouteTableId, DestinationCidrBlock: '0.0.0.0/0', NatGatewayId: id }
    await ec2.send(new CreateRouteCommand(route))
    const metric = { namespace: 'AWS/NATGateway', metric: 'BytesOutToDestination', dimension: 'NatGatewayId' }
    // Of the new one CloudWatch knows nothing yet.
    if (name !== 'new') await putMetric(config, metric, { id, value: name === 'quiet' ? 0 : 5000, now })
  }
  const { NetworkInterface } = await ec2.send(new CreateNetworkInterfaceCommand({ SubnetId }))
  named(NetworkInterface?.NetworkInterfaceId, 'detached')
}

async function furnishBalancers(config: AccountConfig, named: Named): Promise<void> {
  const zones = [`${config.region}a`]
  const Listeners = [{ Protocol: 'TCP', LoadBalancerPort: 80, InstancePort: 80 }]
  const classic = new ElasticLoadBalancingClient(config)
  for (const [LoadBalancerName, Key] of [
    ['idle-classic', 'team'],
    ['classic-of-cluster', 'kubernetes.io/cluster/shop'],
  ] as const)
    await classic.send(
      new CreateLoadBalancerCommand({
        LoadBalancerName,
        Listeners,
        AvailabilityZones: zones,
        Tags: [{ Key, Value: 'x' }],
      }),
    )
  const ec2 = new EC2Client(config)
  const { Subnets = [] } = await ec2.send(new DescribeSubnetsCommand({}))
  const v2 = new ElasticLoadBalancingV2Client(config)
  for (const [Name, Key] of [
    ['idle-balancer', 'team'],
    ['balancer-of-cluster', 'elbv2.k8s.aws/cluster'],
    ['busy-balancer', 'team'],
  ] as const) {
    const { LoadBalancers: [made] = [] } = await v2.send(
      new CreateBalancerV2Command({
        Name,
        Subnets: Subnets.slice(0, 2).flatMap(({ SubnetId = '' }) => SubnetId),
        Tags: [{ Key, Value: 'x' }],
      }),
    )
    const LoadBalancerArn = named(made?.LoadBalancerArn, Name)
    if (Name !== 'busy-balancer') continue
    const VpcId = Subnets[0]?.VpcId
    const { TargetGroups: [group] = [] } = await v2.send(
      new CreateTargetGroupCommand({ Name: 'targets', Protocol: 'HTTP', Port: 80, VpcId, TargetType: 'ip' }),
    )
    const TargetGroupArn = group?.TargetGroupArn
    await v2.send(new RegisterTargetsCommand({ TargetGroupArn, Targets: [{ Id: '10.0.0.7' }] }))
    const DefaultActions = [{ Type: 'forward' as const, TargetGroupArn }]
    await v2.send(new CreateListenerCommand({ LoadBalancerArn, Protocol: 'HTTP', Port: 80, DefaultActions }))
  }
}

async function putMetric(
  config: AccountConfig,
  { namespace, metric, dimension }: { namespace: string; metric: string; dimension: string },
  { id, value, now }: { id: string; value: number; now: number },
): Promise<void> {
  const days = Array.from({ length: 13 }, (_, day) => new Date(now - (day + 0.5) * 86_400_000))
  const Dimensions = [{ Name: dimension, Value: id }]
  const MetricData = days.map((Timestamp) => ({ MetricName: metric, Dimensions, Value: value, Timestamp }))
  await new CloudWatchClient(config).send(new PutMetricDataCommand({ Namespace: namespace, MetricData }))
}

async function furnishDatabases(config: AccountConfig, now: number): Promise<void> {
  const rds = new RDSClient(config)
  const metric = { namespace: 'AWS/RDS', metric: 'DatabaseConnections', dimension: 'DBInstanceIdentifier' }
  const connections = { busy: 7, idle: 0, protected: 0, source: 0, replica: 3 }
  for (const DBInstanceIdentifier of ['busy', 'idle', 'unmeasured', 'protected', 'source'])
    await rds.send(
      new CreateDBInstanceCommand({
        DBInstanceIdentifier,
        DBInstanceClass: 'db.t3.medium',
        Engine: 'postgres',
        AllocatedStorage: 20,
        MasterUsername: 'admin1',
        MasterUserPassword: 'not-a-secret',
        DeletionProtection: DBInstanceIdentifier === 'protected',
      }),
    )
  await rds.send(
    new CreateDBInstanceReadReplicaCommand({ DBInstanceIdentifier: 'replica', SourceDBInstanceIdentifier: 'source' }),
  )
  for (const [id, value] of Object.entries(connections)) await putMetric(config, metric, { id, value, now })
  for (const [DBSnapshotIdentifier, DBInstanceIdentifier] of [
    ['idle-1', 'idle'],
    ['idle-shared', 'idle'],
    ['idle-last', 'idle'],
    ['busy-only', 'busy'],
  ])
    await rds.send(new CreateDBSnapshotCommand({ DBSnapshotIdentifier, DBInstanceIdentifier }))
  await rds.send(
    new ModifyDBSnapshotAttributeCommand({
      DBSnapshotIdentifier: 'idle-shared',
      AttributeName: 'restore',
      ValuesToAdd: ['999999999999'],
    }),
  )
}

async function furnishLogs(config: AccountConfig): Promise<void> {
  const logs = new CloudWatchLogsClient(config)
  for (const logGroupName of ['/app/written', '/app/empty']) {
    await logs.send(new CreateLogGroupCommand({ logGroupName, tags: { team: 'shop' } }))
    if (logGroupName === '/app/empty') continue
    await logs.send(new CreateLogStreamCommand({ logGroupName, logStreamName: 'one' }))
    const logEvents = [{ timestamp: Date.now() - 1000, message: 'started' }]
    await logs.send(new PutLogEventsCommand({ logGroupName, logStreamName: 'one', logEvents }))
  }
}

async function furnishImages(config: AccountConfig, named: Named): Promise<void> {
  const ecr = new ECRClient(config)
  const repositoryName = 'shop/web'
  const { repository } = await ecr.send(new CreateRepositoryCommand({ repositoryName }))
  const put = async (imageTag: string | undefined, body: object, mediaType: string) => {
    const imageManifest = JSON.stringify({ schemaVersion: 2, mediaType, ...body })
    const { image } = await ecr.send(
      new PutImageCommand({ repositoryName, imageManifest, imageManifestMediaType: mediaType, imageTag }),
    )
    const digest = image?.imageId?.imageDigest ?? ''
    named(`${repositoryName}@${digest}`, imageTag ?? 'untagged')
    return digest
  }
  const one = (tag: string) =>
    put(
      tag,
      { config: { digest: `sha256:${tag}`, size: 1 }, layers: [{ digest: `sha256:l-${tag}`, size: 2 ** 20 }] },
      'application/vnd.oci.image.manifest.v1+json',
    )
  for (const tag of ['by-pod', 'by-task', 'old']) await one(tag)
  const member = await one('member')
  await put(
    'list',
    { manifests: [{ digest: member, platform: { os: 'linux', architecture: 'arm64' } }] },
    'application/vnd.oci.image.index.v1+json',
  )
  await new ECSClient(config).send(
    new RegisterTaskDefinitionCommand({
      family: 'web',
      containerDefinitions: [{ name: 'web', image: `${repository?.repositoryUri}:by-task`, memory: 64 }],
    }),
  )
}
