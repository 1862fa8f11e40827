import type { LoadBalancerDescription } from '@aws-sdk/client-elastic-load-balancing'
import type { Action, LoadBalancer } from '@aws-sdk/client-elastic-load-balancing-v2'
import { applicationOf, tagsOf, timeOf, type AwsResource } from '../read/aws-type.ts'
import { defineType } from '../read/define-type.ts'
import { InventoryError, unused, used } from '../../model/resource.ts'
import { inventoryError, listCompletely, requireItems } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

const unattached = unused('no instance, target or auto-scaling group is attached to it')

/** Classic load balancers. In use while instances are registered, or an auto-scaling group names them. */
export const loadBalancerType = defineType<LoadBalancerDescription>({
  name: 'loadBalancer',
  absent: ['LoadBalancerNotFound', 'AccessPointNotFoundException', 'AccessPointNotFound'],
  async tag({ sdk, elb }, { id }, { key, value }) {
    const LoadBalancerNames = [id]
    if (value === undefined) await elb.send(new sdk.elb.RemoveTagsCommand({ LoadBalancerNames, Tags: [{ Key: key }] }))
    else await elb.send(new sdk.elb.AddTagsCommand({ LoadBalancerNames, Tags: [{ Key: key, Value: value }] }))
  },
  all: classicBalancersOf,
  one: async ({ sdk, elb }, id) =>
    (await elb.send(new sdk.elb.DescribeLoadBalancersCommand({ LoadBalancerNames: [id] })))
      .LoadBalancerDescriptions?.[0],
  async describe(balancer, { sdk, elb, account }) {
    const { LoadBalancerName: id = '', CreatedTime } = balancer
    const createdAt = timeOf(CreatedTime)
    // A tag may protect the load balancer, so missing tags make the inventory incomplete.
    const { TagDescriptions } = await elb
      .send(new sdk.elb.DescribeTagsCommand({ LoadBalancerNames: [id] }))
      .catch((error: unknown) => {
        throw inventoryError(`tags of load balancers of ${account}`, error)
      })
    const [described] = requireItems(TagDescriptions)
    if (!described) throw new InventoryError(`tags of ${account}: the response lacks those of ${id}`)
    const tags = tagsOf(described.Tags)
    const uid = `${id}@${createdAt ?? ''}`
    return { id, uid, createdAt, tags, raw: balancer, group: applicationOf(id), facts: { name: id } }
  },
  async use(evidence) {
    const users = new Map<string, string>()
    for (const { LoadBalancerNames = [], TrafficSources = [], AutoScalingGroupName } of await evidence.groups())
      for (const name of [...LoadBalancerNames, ...TrafficSources.map(({ Identifier }) => Identifier)])
        if (name) users.set(name, `auto-scaling group ${AutoScalingGroupName}`)
    return ({ Instances = [], LoadBalancerName = '' }) => {
      const by = Instances.length > 0 ? `${Instances.length} instances` : users.get(LoadBalancerName)
      return by === undefined ? unattached : used(by)
    }
  },
  remove: ({ sdk, elb }, { LoadBalancerName }) => elb.send(new sdk.elb.DeleteLoadBalancerCommand({ LoadBalancerName })),
})

export function classicBalancersOf(session: AwsSession): Promise<readonly LoadBalancerDescription[]> {
  const { sdk, elb: client, account } = session
  return listCompletely(
    { what: `classic load balancers of ${account}`, pageSize: 400, items: 'LoadBalancerDescriptions' },
    (pageSize: number) => sdk.elb.paginateDescribeLoadBalancers({ client, pageSize }, {}),
  )
}

/**
 * Application, network and gateway load balancers. In use while a target is registered, an auto-scaling group registers its
 * instances with them, or a listener rule responds without a target.
 */
export const loadBalancerV2Type = defineType<LoadBalancer>({
  name: 'loadBalancerV2',
  absent: ['LoadBalancerNotFoundException', 'LoadBalancerNotFound'],
  async tag({ sdk, elbV2 }, { id }, { key, value }) {
    const ResourceArns = [id]
    if (value === undefined) await elbV2.send(new sdk.elbV2.RemoveTagsCommand({ ResourceArns, TagKeys: [key] }))
    else await elbV2.send(new sdk.elbV2.AddTagsCommand({ ResourceArns, Tags: [{ Key: key, Value: value }] }))
  },
  all: balancersOf,
  one: async ({ sdk, elbV2 }, id) =>
    (await elbV2.send(new sdk.elbV2.DescribeLoadBalancersCommand({ LoadBalancerArns: [id] }))).LoadBalancers?.[0],
  describe: v2Resource,
  async use(evidence) {
    const { session } = evidence
    const { sdk, elbV2: client, account } = session
    const targetGroups = await listCompletely(
      { what: `target groups of ${account}`, pageSize: 400, items: 'TargetGroups' },
      (pageSize: number) => sdk.elbV2.paginateDescribeTargetGroups({ client, pageSize }, {}),
    )
    const fromGroups = new Set(
      (await evidence.groups()).flatMap(({ TargetGroupARNs = [], TrafficSources = [] }) => [
        ...TargetGroupARNs,
        ...TrafficSources.map(({ Identifier }) => Identifier),
      ]),
    )
    const users = new Map<string, string>()
    for (const { TargetGroupArn, LoadBalancerArns = [] } of targetGroups) {
      if (LoadBalancerArns.length === 0) continue
      const targets = await targetsOf(session, TargetGroupArn)
      if (targets > 0 || fromGroups.has(TargetGroupArn))
        for (const arn of LoadBalancerArns) users.set(arn, `target group ${TargetGroupArn}`)
    }
    for (const { LoadBalancerArn: arn = '' } of await balancersOf(session)) {
      const by = users.has(arn) ? undefined : await respondingRule(session, arn)
      if (by !== undefined) users.set(arn, by)
    }
    return ({ LoadBalancerArn = '' }) => {
      const by = users.get(LoadBalancerArn)
      return by === undefined ? unattached : used(by)
    }
  },
  remove: ({ sdk, elbV2 }, { LoadBalancerArn }) =>
    elbV2.send(new sdk.elbV2.DeleteLoadBalancerCommand({ LoadBalancerArn })),
})

export function balancersOf({ sdk, elbV2: client, account }: AwsSession): Promise<readonly LoadBalancer[]> {
  return listCompletely(
    { what: `load balancers of ${account}`, pageSize: 400, items: 'LoadBalancers' },
    (pageSize: number) => sdk.elbV2.paginateDescribeLoadBalancers({ client, pageSize }, {}),
  )
}

/** A listener rule that serves callers without a target: a redirect, or a fixed response other than an error. */
async function respondingRule({ sdk, elbV2: client, account }: AwsSession, arn: string): Promise<string | undefined> {
  const listeners = await listCompletely(
    { what: `listeners of ${account}`, pageSize: 400, items: 'Listeners' },
    (pageSize: number) => sdk.elbV2.paginateDescribeListeners({ client, pageSize }, { LoadBalancerArn: arn }),
  )
  for (const { ListenerArn, Protocol = '' } of listeners) {
    // Listeners of other protocols have no rules.
    if (!Protocol.startsWith('HTTP')) continue
    const rules = await listCompletely(
      { what: `rules of listeners of ${account}`, pageSize: 400, items: 'Rules' },
      (pageSize: number) => sdk.elbV2.paginateDescribeRules({ client, pageSize }, { ListenerArn }),
    )
    if (rules.some(({ Actions = [] }) => Actions.some(isResponse))) return `a rule of listener ${ListenerArn}`
  }
  return undefined
}

function isResponse({ Type, FixedResponseConfig }: Action): boolean {
  return Type === 'redirect' || (Type === 'fixed-response' && /^[23]/.test(FixedResponseConfig?.StatusCode ?? ''))
}

async function targetsOf({ sdk, elbV2, account }: AwsSession, TargetGroupArn: string | undefined): Promise<number> {
  try {
    const { TargetHealthDescriptions } = await elbV2.send(new sdk.elbV2.DescribeTargetHealthCommand({ TargetGroupArn }))
    if (!TargetHealthDescriptions) throw new Error('the response has no TargetHealthDescriptions')
    return TargetHealthDescriptions.length
  } catch (error) {
    throw inventoryError(`targets of ${account}`, error)
  }
}

async function v2Resource(balancer: LoadBalancer, { sdk, elbV2, account }: AwsSession): Promise<AwsResource> {
  const id = balancer.LoadBalancerArn ?? ''
  try {
    const { TagDescriptions } = await elbV2.send(new sdk.elbV2.DescribeTagsCommand({ ResourceArns: [id] }))
    const described = TagDescriptions?.find(({ ResourceArn }) => ResourceArn === id)
    if (!described) throw new Error('the response has no tags for it')
    const { Attributes } = await elbV2.send(
      new sdk.elbV2.DescribeLoadBalancerAttributesCommand({ LoadBalancerArn: id }),
    )
    if (!Attributes) throw new Error('the response has no attributes for it')
    const isProtected = Attributes.some(({ Key, Value }) => Key === 'deletion_protection.enabled' && Value === 'true')
    return {
      id,
      uid: id,
      createdAt: timeOf(balancer.CreatedTime),
      tags: tagsOf(described.Tags),
      raw: balancer,
      group: applicationOf(balancer.LoadBalancerName),
      facts: { name: balancer.LoadBalancerName },
      shield: isProtected ? { because: 'shielded', detail: 'its deletion protection is on' } : undefined,
    }
  } catch (error) {
    throw inventoryError(`load balancer ${id} of ${account}`, error)
  }
}
