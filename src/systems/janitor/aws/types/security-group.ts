import type { SecurityGroup } from '@aws-sdk/client-ec2'
import { applicationOf, tagsOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { tagEc2 } from '../read/ec2-tags.ts'
import type { Evidence } from '../read/evidence.ts'
import { inventoryError, listCompletely } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'
import { groupsOfServices } from '../read/security-group-users.ts'

/**
 * Security groups. Network interfaces, instances, launch configurations, launch templates, rules of other groups, and services
 * that start instances later (Lambda, CodeBuild, Batch, ECS) use them.
 */
export const securityGroupType: AwsType = {
  name: 'securityGroup',
  absent: ['InvalidGroup.NotFound', 'InvalidGroupId.NotFound'],

  async list(session) {
    return (await groupsOf(session)).map(toResource)
  },

  async read({ sdk, ec2 }, id) {
    const { SecurityGroups = [] } = await ec2.send(new sdk.ec2.DescribeSecurityGroupsCommand({ GroupIds: [id] }))
    return SecurityGroups[0] && toResource(SecurityGroups[0])
  },

  async detect(evidence) {
    const used = await groupsInUse(evidence)
    return ({ id, raw }) => {
      const by = used.get(id) ?? used.get((raw as SecurityGroup).GroupName ?? '')
      return by === undefined
        ? { state: 'unused', because: 'nothing uses it and no rule names it' }
        : { state: 'used', by }
    }
  },

  async remove({ sdk, ec2 }, { id }) {
    await ec2.send(new sdk.ec2.DeleteSecurityGroupCommand({ GroupId: id }))
  },

  tag: tagEc2,
}

function groupsOf({ sdk, ec2: client, account }: AwsSession): Promise<readonly SecurityGroup[]> {
  return listCompletely({
    what: `security groups of ${account}`,
    pageSize: 1000,
    pages: (pageSize) => sdk.ec2.paginateDescribeSecurityGroups({ client, pageSize }, {}),
    items: ({ SecurityGroups }) => SecurityGroups,
  })
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
  const peerings = await listCompletely({
    what: `VPC peerings of ${account}`,
    pageSize: 1000,
    pages: (pageSize) => sdk.ec2.paginateDescribeVpcPeeringConnections({ client, pageSize }, {}),
    items: ({ VpcPeeringConnections }) => VpcPeeringConnections,
  })
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

function toResource(group: SecurityGroup): AwsResource {
  const id = group.GroupId ?? ''
  return {
    id,
    uid: id,
    tags: tagsOf(group.Tags),
    raw: group,
    group: applicationOf(group.GroupName),
    facts: { name: group.GroupName },
    shield:
      group.GroupName === 'default'
        ? { because: 'shielded', detail: 'the default group of a VPC cannot be deleted' }
        : undefined,
  }
}
