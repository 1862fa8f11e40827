import type { AutoScalingGroup } from '@aws-sdk/client-auto-scaling'
import { parseTime } from '../../../../kube/time.ts'
import { applicationOf, tagsOf, timeOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { discoveryFacts, readRegistry, type Registry } from '../read/eureka.ts'
import { Evidence } from '../read/evidence.ts'
import { listCompletely } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

/**
 * Auto-scaling groups, which Swabbie calls server groups. In use while they have instances, warm ones included, or will get
 * some by their desired capacity or a scheduled action.
 */
export const serverGroupType: AwsType = {
  name: 'serverGroup',
  absent: [],

  async list(session) {
    const groups = await new Evidence(session).groups()
    const registry = await registryOf(session)
    return groups.map((group) => toResource(group, registry))
  },

  async read({ sdk, autoScaling }, id) {
    const { AutoScalingGroups = [] } = await autoScaling.send(
      new sdk.autoScaling.DescribeAutoScalingGroupsCommand({ AutoScalingGroupNames: [id] }),
    )
    const [group] = AutoScalingGroups
    return group && group.Status === undefined ? toResource(group) : undefined
  },

  async detect({ session }) {
    const scaleUps = await scheduledScaleUps(session)
    return ({ id, raw }) => {
      const { Instances = [], DesiredCapacity = 0, WarmPoolSize = 0 } = raw as AutoScalingGroup
      const here = Instances.length + WarmPoolSize
      if (here > 0) return { state: 'used', by: `${here} instances` }
      const action = scaleUps.get(id)
      if (action !== undefined) return { state: 'used', by: `scheduled action ${action}` }
      return DesiredCapacity > 0
        ? { state: 'used', by: `its desired capacity of ${DesiredCapacity}` }
        : { state: 'unused', because: 'it has no instances and a desired capacity of 0' }
    }
  },

  async remove({ sdk, autoScaling }, { id }, { force }) {
    await autoScaling.send(
      new sdk.autoScaling.DeleteAutoScalingGroupCommand({ AutoScalingGroupName: id, ForceDelete: force }),
    )
  },

  async tag({ sdk, autoScaling }, { id }, { key, value }) {
    const tag = {
      ResourceId: id,
      ResourceType: 'auto-scaling-group',
      Key: key,
      PropagateAtLaunch: false,
      ...(value === undefined ? {} : { Value: value }),
    }
    await autoScaling.send(
      value === undefined
        ? new sdk.autoScaling.DeleteTagsCommand({ Tags: [tag] })
        : new sdk.autoScaling.CreateOrUpdateTagsCommand({ Tags: [tag] }),
    )
  },
}

/** Scheduled actions that scale a group up, by the name of the group. */
async function scheduledScaleUps({
  sdk,
  autoScaling: client,
  account,
}: AwsSession): Promise<ReadonlyMap<string, string>> {
  const actions = await listCompletely(
    { what: `scheduled actions of ${account}`, pageSize: 100, items: 'ScheduledUpdateGroupActions' },
    (pageSize: number) => sdk.autoScaling.paginateDescribeScheduledActions({ client, pageSize }, {}),
  )
  return new Map(
    actions
      .filter(({ DesiredCapacity = 0, MinSize = 0 }) => DesiredCapacity > 0 || MinSize > 0)
      .map(({ AutoScalingGroupName = '', ScheduledActionName = '' }) => [AutoScalingGroupName, ScheduledActionName]),
  )
}

/** The account's Eureka registry; undefined when it has none, or it cannot be read: discovery rules are then undecided. */
async function registryOf({ eurekaUrl, http }: AwsSession): Promise<Registry | undefined> {
  return eurekaUrl === undefined ? undefined : readRegistry(http, eurekaUrl).catch(() => undefined)
}

function toResource(group: AutoScalingGroup, registry?: Registry): AwsResource {
  const id = group.AutoScalingGroupName ?? ''
  const suspended = (group.SuspendedProcesses ?? []).find(({ ProcessName }) => ProcessName === 'AddToLoadBalancer')
  const instances = (group.Instances ?? []).map(({ InstanceId = '' }) => InstanceId)
  const disabledSince = suspendedAt(suspended?.SuspensionReason)
  return {
    id,
    uid: group.AutoScalingGroupARN ?? id,
    createdAt: timeOf(group.CreatedTime),
    tags: tagsOf(group.Tags),
    raw: group,
    group: applicationOf(id),
    facts: {
      name: id,
      instances,
      loadBalancers: [
        ...(group.LoadBalancerNames ?? []),
        ...(group.TargetGroupARNs ?? []),
        ...(group.TrafficSources ?? []).map(({ Identifier }) => Identifier),
      ],
      isDisabled: suspended !== undefined,
      ...discoveryFacts(instances, registry),
      ...(disabledSince === undefined ? {} : { disabledSince }),
    },
  }
}

/** The time in `User suspended at 2026-01-02T03:04:05Z`. AWS reports it nowhere else. */
function suspendedAt(reason: string | undefined): number | undefined {
  const [, time] = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)/.exec(reason ?? '') ?? []
  return time === undefined ? undefined : parseTime(`${time}Z`)
}
