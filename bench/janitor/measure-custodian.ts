import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  AutoScalingClient,
  CreateAutoScalingGroupCommand,
  CreateLaunchConfigurationCommand,
} from '@aws-sdk/client-auto-scaling'
import {
  AuthorizeSecurityGroupIngressCommand,
  CreateLaunchTemplateCommand,
  CreateNetworkInterfaceCommand,
  CreateSecurityGroupCommand,
  CreateSnapshotCommand,
  CreateVolumeCommand,
  DescribeSubnetsCommand,
  EC2Client,
  RegisterImageCommand,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2'
import type { AwsTypeName } from '../../src/apis/cleanup-policy.ts'
import { furnishCosts } from '../../test/janitor/aws-account.ts'
import { startFaultProxy } from '../../test/janitor/fault-proxy.ts'
import { startMoto, whyNoMoto } from '../../test/janitor/moto.ts'

/**
 * Which of Sojourn and Cloud Custodian finds what unused in the same pretended account, with how many requests and how much CPU. Custodian is
 * installed by pip into a virtual environment, or taken from the one that CUSTODIAN names.
 */
const run = promisify(execFile)
const names = new Map<string, string>()
const region = 'eu-west-1'
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
/** The types that both judge, and Custodian's filter for them. */
const types: Readonly<Partial<Record<AwsTypeName, { resource: string; filter: object }>>> = {
  image: { resource: 'aws.ami', filter: { type: 'unused', value: true } },
  snapshot: { resource: 'aws.ebs-snapshot', filter: { type: 'unused', value: true } },
  launchConfiguration: { resource: 'aws.launch-config', filter: { type: 'unused' } },
  securityGroup: { resource: 'aws.security-group', filter: { type: 'unused' } },
  loadBalancer: { resource: 'aws.elb', filter: { Instances: [] } },
  loadBalancerV2: {
    resource: 'aws.app-elb',
    filter: { type: 'target-group', key: 'length(@)', value: 0, op: 'eq' },
  },
  volume: { resource: 'aws.ebs', filter: { Attachments: [] } },
  elasticIp: { resource: 'aws.elastic-ip', filter: { AssociationId: 'absent' } },
  natGateway: { resource: 'aws.nat-gateway', filter: idle('BytesOutToDestination') },
  networkInterface: { resource: 'aws.eni', filter: { Status: 'available' } },
  dbInstance: { resource: 'aws.rds', filter: idle('DatabaseConnections') },
  dbSnapshot: { resource: 'aws.rds-snapshot', filter: { not: [{ type: 'latest' }] } },
  logGroup: { resource: 'aws.log-group', filter: { type: 'last-write', days: 14 } },
  ecrImage: {
    resource: 'aws.ecr-image',
    filter: { type: 'value', key: 'imagePushedAt', value_type: 'age', value: 90, op: 'gt' },
  },
}

/** Custodian's documented filter for what was idle for two weeks. */
function idle(name: string): object {
  return { type: 'metrics', name, days: 14, period: 1_209_600, statistics: 'Maximum', value: 0, op: 'eq' }
}

/** The first of these that a resource has is its id. */
const idKeys = [
  'LaunchConfigurationName',
  'ImageId',
  'SnapshotId',
  'VolumeId',
  'NatGatewayId',
  'AllocationId',
  'NetworkInterfaceId',
  'GroupId',
  'DBSnapshotIdentifier',
  'DBInstanceIdentifier',
  'logGroupName',
  'LoadBalancerArn',
  'LoadBalancerName',
]
const missing = await whyNoMoto()
if (missing) {
  console.error(missing)
  process.exit(1)
}
const directory = mkdtempSync(join(tmpdir(), 'custodian-'))
try {
  await using moto = await startMoto()
  await using proxy = await startFaultProxy(moto.url)
  // AWS sends this list, moto does not, and Custodian cannot do without it.
  const classic = '<ClassicLinkVPCSecurityGroups></ClassicLinkVPCSecurityGroups>'
  proxy.rewrite = (action, text) =>
    action === 'DescribeLaunchConfigurations'
      ? text.replaceAll('</LaunchConfigurationName>', `</LaunchConfigurationName>${classic}`)
      : aged(action, text)
  const truth = await furnish(moto.url)
  const ours = await sojourn(proxy)
  const theirs = await custodian(proxy)
  console.log('| type | unused, by construction | Sojourn | Custodian |\n|---|---|---|---|')
  for (const type of Object.keys(types) as AwsTypeName[])
    console.log(
      `| ${type} | ${shown(truth, truth[type])} | ${shown(truth, ours.found[type])} | ${shown(truth, theirs.found[type])} |`,
    )
  console.log(`| requests | | ${ours.requests} | ${theirs.requests} |`)
  console.log(`| CPU seconds | | ${ours.cpu.toFixed(2)} | ${theirs.cpu.toFixed(2)} |`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
process.exit()

/** Everything was created just now: for both tools it is a hundred days older. */
function aged(action: string, text: string): string {
  const ms = 100 * 86_400_000
  if (!/^Describe(?:NatGateways|DB|LogGroups|Images)/.test(action)) return text
  return text
    .replaceAll(/(<(?:createTime|InstanceCreateTime|SnapshotCreateTime)>)([^<]+)/g, (_, tag: string, date: string) =>
      tag.concat(new Date(Date.parse(date) - ms).toISOString()),
    )
    .replaceAll(/"(creationTime|imagePushedAt)": ?([\d.]+)/g, (_, key: string, at: string) =>
      JSON.stringify({ [key]: key === 'creationTime' ? Number(at) - ms : Number(at) - ms / 1000 }).slice(1, -1),
    )
}

type Found = Readonly<Record<string, readonly string[]>>

interface Measured {
  readonly found: Found
  readonly requests: number
  readonly cpu: number
}

function shown(truth: Found, ids: readonly string[] = []): string {
  const wrong = (id: string) => (Object.values(truth).some((unused) => unused.includes(id)) ? '' : ' (wrong)')
  return (
    ids
      .map((id) => `${names.get(id) ?? id}${id.startsWith('failed') ? '' : wrong(id)}`)
      .toSorted()
      .join(', ') || 'none'
  )
}

async function sojourn(proxy: { readonly url: string; readonly calls: readonly unknown[] }): Promise<Measured> {
  // What the Kubernetes provider reads from the clusters.
  const clusters = [
    [`123456789012.dkr.ecr.${region}.amazonaws.com/shop/web:by-pod`, 'Deployment/web'],
    [idNamed('of-a-claim'), 'PersistentVolume/data'],
  ]
  const calls = proxy.calls.length
  const script = join(import.meta.dirname, 'observe-account.ts')
  const { stdout, cpu } = await measured([
    process.execPath,
    script,
    proxy.url,
    JSON.stringify(Object.keys(types)),
    JSON.stringify(clusters),
  ])
  return { found: JSON.parse(stdout) as Found, requests: proxy.calls.length - calls, cpu }
}

/** Runs a command, and counts the CPU of its whole process. One that fails has said something, too. */
async function measured(command: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const timed = ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', ...command]
  const { stdout, stderr } = await run('bash', timed, { env: { ...process.env, ...env } }).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  const [user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
  return { stdout, stderr, cpu: user + system }
}

async function custodian(proxy: { readonly url: string; readonly calls: readonly unknown[] }): Promise<Measured> {
  const environment = process.env['CUSTODIAN'] ?? join(directory, 'venv')
  if (!existsSync(join(environment, 'bin', 'custodian'))) {
    await run('python3', ['-m', 'venv', environment])
    await run(join(environment, 'bin', 'pip'), ['install', '--quiet', 'c7n'], { timeout: 600_000 })
  }
  const policies = Object.entries(types).map(([name, { resource, filter }]) => ({ name, resource, filters: [filter] }))
  writeFileSync(join(directory, 'policies.json'), JSON.stringify({ policies }))
  const calls = proxy.calls.length
  const flags = ['run', '--dryrun', '--cache-period', '0', '--region', region, '-s', join(directory, 'out')]
  const command = [join(environment, 'bin', 'custodian'), ...flags, join(directory, 'policies.json')]
  // A policy of Custodian fails where moto does not answer as AWS does: the others count.
  const { stderr, cpu } = await measured(command, {
    AWS_ENDPOINT_URL: proxy.url,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_DEFAULT_REGION: region,
  })
  const found = Object.fromEntries(
    Object.keys(types).map((name) => {
      const file = join(directory, 'out', name, 'resources.json')
      if (stderr.includes(`\n - ${name}\n`) || !existsSync(file)) return [name, ['failed: moto answers 500']]
      return [name, (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>[]).map(idOf)]
    }),
  )
  return { found, requests: proxy.calls.length - calls, cpu }
}

function idOf(resource: Readonly<Record<string, string>>): string {
  if (resource['imageDigest']) return `${resource['repositoryName']}@${resource['imageDigest']}`
  return idKeys.map((key) => resource[key]).find(Boolean) ?? ''
}

function idNamed(name: string): string {
  return [...names].find(([, given]) => given === name)?.[0] ?? ''
}

/** Fills the account, and says what is unused in it. */
async function furnish(endpoint: string): Promise<Found> {
  const config = { region, endpoint, credentials }
  const ec2 = new EC2Client(config)
  const autoScaling = new AutoScalingClient(config)
  const image = async (name: string) => {
    const device = { DeviceName: '/dev/sda1', Ebs: { VolumeSize: 1 } }
    const { ImageId = '' } = await ec2.send(
      new RegisterImageCommand({ Name: name, RootDeviceName: '/dev/sda1', BlockDeviceMappings: [device] }),
    )
    return named(ImageId, name)
  }
  const group = async (name: string) =>
    named((await ec2.send(new CreateSecurityGroupCommand({ GroupName: name, Description: name }))).GroupId ?? '', name)
  const running = await image('runs')
  const byGroup = await image('launched-by-group')
  const byTemplate = await image('launched-by-template')
  const unused = [await image('old-1'), await image('old-2')]
  await ec2.send(new RunInstancesCommand({ ImageId: running, MinCount: 1, MaxCount: 1 }))
  await ec2.send(
    new CreateLaunchTemplateCommand({ LaunchTemplateName: 'lt', LaunchTemplateData: { ImageId: byTemplate } }),
  )
  for (const [name, ImageId] of [
    ['lc-used', byGroup],
    ['lc-old', byGroup],
  ] as const)
    await autoScaling.send(
      new CreateLaunchConfigurationCommand({ LaunchConfigurationName: name, ImageId, InstanceType: 't3.small' }),
    )
  const size = { MinSize: 0, MaxSize: 1, DesiredCapacity: 0, AvailabilityZones: [`${region}a`] }
  await autoScaling.send(
    new CreateAutoScalingGroupCommand({ AutoScalingGroupName: 'a', LaunchConfigurationName: 'lc-used', ...size }),
  )
  const mixed = { LaunchTemplate: { LaunchTemplateSpecification: { LaunchTemplateName: 'lt', Version: '$Latest' } } }
  await autoScaling.send(
    new CreateAutoScalingGroupCommand({ AutoScalingGroupName: 'b', MixedInstancesPolicy: mixed, ...size }),
  )
  const { VolumeId = '' } = await ec2.send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 1 }))
  named(VolumeId, 'volume-old')
  const { SnapshotId = '' } = await ec2.send(new CreateSnapshotCommand({ VolumeId }))
  const [inUse, referenced, referring, idle] = await Promise.all(
    ['sg-of-interface', 'sg-referenced', 'sg-referring', 'sg-idle'].map(group),
  )
  const { Subnets: [subnet] = [] } = await ec2.send(new DescribeSubnetsCommand({}))
  const faces: string[] = []
  for (const [index, id] of [inUse, referring].entries()) {
    const request = { SubnetId: subnet?.SubnetId, Groups: [id ?? ''] }
    const { NetworkInterface } = await ec2.send(new CreateNetworkInterfaceCommand(request))
    faces.push(named(NetworkInterface?.NetworkInterfaceId ?? '', `eni-${index + 1}`))
  }
  const rule = { IpProtocol: 'tcp', FromPort: 80, ToPort: 80, UserIdGroupPairs: [{ GroupId: referenced }] }
  await ec2.send(new AuthorizeSecurityGroupIngressCommand({ GroupId: referring, IpPermissions: [rule] }))
  for (const [id, name] of await furnishCosts(config, Date.now())) names.set(id, name)
  return {
    volume: [VolumeId, idNamed('left-over')],
    elasticIp: [idNamed('idle-address')],
    natGateway: [idNamed('quiet'), idNamed('unrouted')],
    networkInterface: [...faces, idNamed('detached')],
    dbInstance: ['idle'],
    dbSnapshot: ['idle-1'],
    logGroup: ['/app/empty'],
    ecrImage: [idNamed('old'), idNamed('list')],
    image: unused,
    snapshot: [named(SnapshotId, 'snapshot-old'), idNamed('spare')],
    loadBalancer: ['idle-classic'],
    loadBalancerV2: [idNamed('idle-balancer')],
    launchConfiguration: ['lc-old'],
    securityGroup: [idle ?? ''],
  }
}

function named(id: string, name: string): string {
  names.set(id, name)
  return id
}
