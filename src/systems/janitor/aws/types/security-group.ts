import type { SecurityGroup } from '@aws-sdk/client-ec2'
import { unused, used } from '../../model/resource.ts'
import { applicationOf, tagsOf } from '../read/aws-type.ts'
import { defineType } from '../read/define-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import type { Evidence } from '../read/evidence.ts'
import { inventoryError, listCompletely } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'
import { groupsOfServices } from '../read/security-group-users.ts'
import { balancersOf, classicBalancersOf } from './load-balancer.ts'

/**
 * Security groups. Network interfaces, load balancers, instances, launch configurations, launch templates, rules of other groups, and services
 * that start instances later (Lambda, CodeBuild, Batch, ECS) use them.
 */
export const securityGroupType = defineType<SecurityGroup>({
  name: 'securityGroup',
  absent: ['InvalidGroup.NotFound', 'InvalidGroupId.NotFound'],
  tag: tagEc2,
  all: groupsOf,
  one: async ({ sdk, ec2 }, id) =>
    (await ec2.send(new sdk.ec2.DescribeSecurityGroupsCommand({ GroupIds: [id] }))).SecurityGroups?.[0],
  describe(raw) {
    const { GroupId: id = '', GroupName: name } = raw
    const isDefault = name === 'default'
    const detail = 'the default group of a VPC cannot be deleted'
    const shield = isDefault ? { because: 'shielded' as const, detail } : undefined
    return { id, uid: id, tags: tagsOf(raw.Tags), raw, group: applicationOf(name), facts: { name }, shield }
  },
  async use(evidence) {
    const users = await groupsInUse(evidence)
    return ({ GroupId = '', GroupName = '' }) => {
      const by = users.get(GroupId) ?? users.get(GroupName)
      return by === undefined ? unused('nothing uses it and no rule names it') : used(by)
    }
  },
  remove: ({ sdk, ec2 }, { GroupId }) => ec2.send(new sdk.ec2.DeleteSecurityGroupCommand({ GroupId })),
})

function groupsOf({ sdk, ec2: client, account }: AwsSession): Promise<readonly SecurityGroup[]> {
  return listCompletely(
    { what: `security groups of ${account}`, pageSize: 1000, items: 'SecurityGroups' },
    (pageSize: number) => sdk.ec2.paginateDescribeSecurityGroups({ client, pageSize }, {}),
  )
}

async function groupsInUse(evidence: Evidence): Promise<ReadonlyMap<string, string>> {
  const { session } = evidence
  const used = new Map<string, string>()
  const add = (groups: readonly (string | undefined)[] | undefined, by: string) => {
    for (const group of groups ?? []) if (group) used.set(group, by)
  }
  for (const { Groups = [], NetworkInterfaceId } of await evidence.networkInterfaces())
    add(
      Groups.map(({ GroupId }) => GroupId),
      `network interface ${NetworkInterfaceId}`,
    )
  for (const { SecurityGroups = [], InstanceId } of await evidence.instances())
    add(
      SecurityGroups.map(({ GroupId }) => GroupId),
      `instance ${InstanceId}`,
    )
  for (const { SecurityGroups, LaunchConfigurationName } of await evidence.launchConfigurations())
    add(SecurityGroups, `launch configuration ${LaunchConfigurationName}`)
  for (const { LaunchTemplateData: data, LaunchTemplateName } of await evidence.templateVersions())
    add(
      [
        ...(data?.SecurityGroupIds ?? []),
        ...(data?.SecurityGroups ?? []),
        ...(data?.NetworkInterfaces ?? []).flatMap(({ Groups }) => Groups ?? []),
      ],
      `launch template ${LaunchTemplateName}`,
    )
  // One that is being created has no network interface yet.
  for (const { SecurityGroups, LoadBalancerName } of await classicBalancersOf(session))
    add(SecurityGroups, `load balancer ${LoadBalancerName}`)
  for (const { SecurityGroups, LoadBalancerName } of await balancersOf(session))
    add(SecurityGroups, `load balancer ${LoadBalancerName}`)
  for (const group of await groupsOf(session)) add(groupsInRules(group), `a rule of ${group.GroupId}`)
  await addPeered(session, add)
  for (const { groups, by } of await groupsOfServices(session)) add(groups, by)
  return used
}

/** The groups that a group's rules name. A rule that names its own group is no use. */
function groupsInRules({
  GroupId,
  IpPermissions = [],
  IpPermissionsEgress = [],
}: SecurityGroup): readonly (string | undefined)[] {
  return [...IpPermissions, ...IpPermissionsEgress]
    .flatMap(({ UserIdGroupPairs = [] }) => UserIdGroupPairs.map((pair) => pair.GroupId))
    .filter((id) => id !== GroupId)
}

/** Adds groups that rules in peered VPCs name. */
async function addPeered(
  session: AwsSession,
  add: (groups: readonly (string | undefined)[], by: string) => void,
): Promise<void> {
  const { sdk, ec2: client, account } = session
  const peerings = await listCompletely(
    { what: `VPC peerings of ${account}`, pageSize: 1000, items: 'VpcPeeringConnections' },
    (pageSize: number) => sdk.ec2.paginateDescribeVpcPeeringConnections({ client, pageSize }, {}),
  )
  if (peerings.length === 0) return
  try {
    const GroupId = (await groupsOf(session)).flatMap((group) => group.GroupId ?? [])
    const { SecurityGroupReferenceSet } = await client.send(
      new sdk.ec2.DescribeSecurityGroupReferencesCommand({ GroupId }),
    )
    if (!SecurityGroupReferenceSet) throw new Error('the response has no SecurityGroupReferenceSet')
    for (const reference of SecurityGroupReferenceSet) add([reference.GroupId], `VPC ${reference.ReferencingVpcId}`)
  } catch (error) {
    throw inventoryError(`peered security groups of ${account}`, error)
  }
}
