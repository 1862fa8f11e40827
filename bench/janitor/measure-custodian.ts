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
import type { ProviderAccount } from '../../src/apis/provider-account.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { AwsProvider } from '../../src/systems/janitor/aws/aws-provider.ts'
import { startFaultProxy } from '../../test/janitor/fault-proxy.ts'
import { policy } from '../../test/janitor/fixtures.ts'
import { startMoto, whyNoMoto } from '../../test/janitor/moto.ts'
import { localNetwork } from '../../test/local-network.ts'

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
}
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
      : text
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

type Found = Readonly<Record<string, readonly string[]>>

interface Measured {
  readonly found: Found
  readonly requests: number
  readonly cpu: number
}

function shown(truth: Found, ids: readonly string[] = []): string {
  const wrong = (id: string) => (Object.values(truth).some((unused) => unused.includes(id)) ? '' : ' (in use)')
  return (
    ids
      .map((id) => `${names.get(id) ?? id}${id.startsWith('failed') ? '' : wrong(id)}`)
      .toSorted()
      .join(', ') || 'none'
  )
}

async function sojourn(proxy: { readonly url: string; readonly calls: readonly unknown[] }): Promise<Measured> {
  const account = {
    metadata: { name: 'main', generation: 1 },
    spec: { provider: 'aws', regions: [region], endpoint: proxy.url, secretRef: { name: 'aws' } },
  } as ProviderAccount
  const provider = new AwsProvider({
    clock: systemClock,
    network: localNetwork(),
    accounts: () => [account],
    secret: async () => credentials,
  })
  const before = process.cpuUsage()
  const calls = proxy.calls.length
  const resourceTypes = Object.keys(types) as AwsTypeName[]
  const { resources } = await provider.observe({
    policy: policy({ targets: [{ aws: { accounts: ['main'], resourceTypes } }] }),
    location: `aws/main/${region}`,
    signal: new AbortController().signal,
  })
  const { user, system } = process.cpuUsage(before)
  provider.close()
  const unused = resources.filter(({ use, shield }) => use.state === 'unused' && !shield)
  const found = Object.fromEntries(
    resourceTypes.map((type) => [type, unused.filter(({ kind }) => kind === type).map(({ name }) => name)]),
  )
  return { found, requests: proxy.calls.length - calls, cpu: (user + system) / 1e6 }
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
  const { stderr } = await run('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@"', 'bash', ...command], {
    env: {
      ...process.env,
      AWS_ENDPOINT_URL: proxy.url,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_DEFAULT_REGION: region,
    },
  }).catch((error: { stderr: string }) => error)
  const [user = 0, system = 0] = (stderr.trim().split('\n').at(-1) ?? '').split(' ').map(Number)
  const found = Object.fromEntries(
    Object.keys(types).map((name) => {
      const file = join(directory, 'out', name, 'resources.json')
      if (stderr.includes(`\n - ${name}\n`) || !existsSync(file)) return [name, ['failed: moto answers 500']]
      return [name, (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>[]).map(idOf)]
    }),
  )
  return { found, requests: proxy.calls.length - calls, cpu: user + system }
}

function idOf(resource: Readonly<Record<string, string>>): string {
  return resource['ImageId'] && !resource['LaunchConfigurationName']
    ? resource['ImageId']
    : (resource['SnapshotId'] ?? resource['GroupId'] ?? resource['LaunchConfigurationName'] ?? '')
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
  const { VolumeId } = await ec2.send(new CreateVolumeCommand({ AvailabilityZone: `${region}a`, Size: 1 }))
  const { SnapshotId = '' } = await ec2.send(new CreateSnapshotCommand({ VolumeId }))
  const [inUse, referenced, referring, idle] = await Promise.all(
    ['sg-of-interface', 'sg-referenced', 'sg-referring', 'sg-idle'].map(group),
  )
  const { Subnets: [subnet] = [] } = await ec2.send(new DescribeSubnetsCommand({}))
  for (const id of [inUse, referring])
    await ec2.send(new CreateNetworkInterfaceCommand({ SubnetId: subnet?.SubnetId, Groups: [id ?? ''] }))
  const rule = { IpProtocol: 'tcp', FromPort: 80, ToPort: 80, UserIdGroupPairs: [{ GroupId: referenced }] }
  await ec2.send(new AuthorizeSecurityGroupIngressCommand({ GroupId: referring, IpPermissions: [rule] }))
  return {
    image: unused,
    snapshot: [named(SnapshotId, 'snapshot-old')],
    launchConfiguration: ['lc-old'],
    securityGroup: [idle ?? ''],
  }
}

function named(id: string, name: string): string {
  names.set(id, name)
  return id
}
