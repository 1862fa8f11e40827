import type { LoadBalancerDescription } from '@aws-sdk/client-elastic-load-balancing'
import type { Action, LoadBalancer } from '@aws-sdk/client-elastic-load-balancing-v2'
import { applicationOf, tagsOf, timeOf, type AwsResource, type AwsType } from '../read/aws-type.ts'
import { InventoryError } from '../../model/resource.ts'
import { inventoryError, listCompletely } from '../read/listing.ts'
import type { AwsSession } from '../read/session.ts'

const unattached = { state: 'unused', because: 'no instance, target or auto-scaling group is attached to it' } as const

/** Classic load balancers. In use while instances are registered, or an auto-scaling group names them. */
export const loadBalancerType: AwsType = {
  name: 'loadBalancer',
  absent: ['LoadBalancerNotFound', 'AccessPointNotFoundException', 'AccessPointNotFound'],

  async list(session) {
    const { sdk, elb: client, account } = session
    const found = await listCompletely({
      what: `classic load balancers of ${account}`,
      pageSize: 400,
      pages: (pageSize) => sdk.elb.paginateDescribeLoadBalancers({ client, pageSize }, {}),
      items: ({ LoadBalancerDescriptions }) => LoadBalancerDescriptions,
    })
    const tags = await classicTags(
      session,
      found.map(({ LoadBalancerName }) => LoadBalancerName ?? ''),
    )
    return found.map((balancer) => classicResource(balancer, tags.get(balancer.LoadBalancerName ?? '') ?? {}))
  },

  async read(session, id) {
    const { sdk, elb } = session
    const { LoadBalancerDescriptions = [] } = await elb.send(
      new sdk.elb.DescribeLoadBalancersCommand({ LoadBalancerNames: [id] }),
    )
    const [balancer] = LoadBalancerDescriptions
    return balancer && classicResource(balancer, (await classicTags(session, [id])).get(id) ?? {})
  },

  async detect(evidence) {
    const used = new Map<string, string>()
    for (const { LoadBalancerNames = [], TrafficSources = [], AutoScalingGroupName } of await evidence.groups())
      for (const name of [...LoadBalancerNames, ...TrafficSources.map(({ Identifier }) => Identifier)])
        if (name) used.set(name, `auto-scaling group ${AutoScalingGroupName}`)
    return ({ id, raw }) => {
      const { Instances = [] } = raw as LoadBalancerDescription
      if (Instances.length > 0) return { state: 'used', by: `${Instances.length} instances` }
      return used.has(id) ? { state: 'used', by: used.get(id) ?? '' } : unattached
    }
  },

  async remove({ sdk, elb }, { id }) {
    await elb.send(new sdk.elb.DeleteLoadBalancerCommand({ LoadBalancerName: id }))
  },

  async tag({ sdk, elb }, { id }, { key, value }) {
    const LoadBalancerNames = [id]
    if (value === undefined) await elb.send(new sdk.elb.RemoveTagsCommand({ LoadBalancerNames, Tags: [{ Key: key }] }))
    else await elb.send(new sdk.elb.AddTagsCommand({ LoadBalancerNames, Tags: [{ Key: key, Value: value }] }))
  },
}

/**
 * Application, network and gateway load balancers. In use while a target is registered, an auto-scaling group registers its
 * instances with them, or a listener rule responds without a target.
 */
export const loadBalancerV2Type: AwsType = {
  name: 'loadBalancerV2',
  absent: ['LoadBalancerNotFoundException', 'LoadBalancerNotFound'],

  async list(session) {
    return Promise.all((await balancersOf(session)).map((balancer) => v2Resource(session, balancer)))
  },

  async read(session, id) {
    const { sdk, elbV2 } = session
    const { LoadBalancers = [] } = await elbV2.send(
      new sdk.elbV2.DescribeLoadBalancersCommand({ LoadBalancerArns: [id] }),
    )
    return LoadBalancers[0] && v2Resource(session, LoadBalancers[0])
  },

  async detect(evidence) {
    const { session } = evidence
    const { sdk, elbV2: client, account } = session
    const targetGroups = await listCompletely({
      what: `target groups of ${account}`,
      pageSize: 400,
      pages: (pageSize) => sdk.elbV2.paginateDescribeTargetGroups({ client, pageSize }, {}),
      items: ({ TargetGroups }) => TargetGroups,
    })
    const fromGroups = new Set(
      (await evidence.groups()).flatMap(({ TargetGroupARNs = [], TrafficSources = [] }) => [
        ...TargetGroupARNs,
        ...TrafficSources.map(({ Identifier }) => Identifier),
      ]),
    )
    const used = new Map<string, string>()
    for (const { TargetGroupArn, LoadBalancerArns = [] } of targetGroups) {
      if (LoadBalancerArns.length === 0) continue
      const targets = await targetsOf(session, TargetGroupArn)
      if (targets > 0 || fromGroups.has(TargetGroupArn))
        for (const arn of LoadBalancerArns) used.set(arn, `target group ${TargetGroupArn}`)
    }
    for (const { LoadBalancerArn: arn = '' } of await balancersOf(session)) {
      const by = used.has(arn) ? undefined : await respondingRule(session, arn)
      if (by !== undefined) used.set(arn, by)
    }
    return ({ id }) => (used.has(id) ? { state: 'used', by: used.get(id) ?? '' } : unattached)
  },

  async remove({ sdk, elbV2 }, { id }) {
    await elbV2.send(new sdk.elbV2.DeleteLoadBalancerCommand({ LoadBalancerArn: id }))
  },

  async tag({ sdk, elbV2 }, { id }, { key, value }) {
    const ResourceArns = [id]
    if (value === undefined) await elbV2.send(new sdk.elbV2.RemoveTagsCommand({ ResourceArns, TagKeys: [key] }))
    else await elbV2.send(new sdk.elbV2.AddTagsCommand({ ResourceArns, Tags: [{ Key: key, Value: value }] }))
  },
}

function balancersOf({ sdk, elbV2: client, account }: AwsSession): Promise<readonly LoadBalancer[]> {
  return listCompletely({
    what: `load balancers of ${account}`,
    pageSize: 400,
    pages: (pageSize) => sdk.elbV2.paginateDescribeLoadBalancers({ client, pageSize }, {}),
    items: ({ LoadBalancers }) => LoadBalancers,
  })
}

/** A listener rule that serves callers without a target: a redirect, or a fixed response other than an error. */
async function respondingRule({ sdk, elbV2: client, account }: AwsSession, arn: string): Promise<string | undefined> {
  const listeners = await listCompletely({
    what: `listeners of ${account}`,
    pageSize: 400,
    pages: (pageSize) => sdk.elbV2.paginateDescribeListeners({ client, pageSize }, { LoadBalancerArn: arn }),
    items: ({ Listeners }) => Listeners,
  })
  for (const { ListenerArn, Protocol = '' } of listeners) {
    // Listeners of other protocols have no rules.
    if (!Protocol.startsWith('HTTP')) continue
    const rules = await listCompletely({
      what: `rules of listeners of ${account}`,
      pageSize: 400,
      pages: (pageSize) => sdk.elbV2.paginateDescribeRules({ client, pageSize }, { ListenerArn }),
      items: ({ Rules }) => Rules,
    })
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

/** Tags of classic load balancers. AWS accepts at most twenty names per call. */
async function classicTags(
  { sdk, elb, account }: AwsSession,
  names: readonly string[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const tags = new Map<string, Readonly<Record<string, string>>>()
  for (let start = 0; start < names.length; start += 20) {
    const LoadBalancerNames = names.slice(start, start + 20)
    const { TagDescriptions = [] } = await elb
      .send(new sdk.elb.DescribeTagsCommand({ LoadBalancerNames }))
      .catch((error: unknown) => {
        throw inventoryError(`tags of load balancers of ${account}`, error)
      })
    for (const { LoadBalancerName = '', Tags } of TagDescriptions) tags.set(LoadBalancerName, tagsOf(Tags))
    // A tag may protect the load balancer, so missing tags make the inventory incomplete.
    const missing = LoadBalancerNames.filter((name) => !tags.has(name))
    if (missing.length > 0)
      throw new InventoryError(`tags of ${account}: the response lacks those of ${missing.join()}`)
  }
  return tags
}

function classicResource(balancer: LoadBalancerDescription, tags: Readonly<Record<string, string>>): AwsResource {
  const id = balancer.LoadBalancerName ?? ''
  const createdAt = timeOf(balancer.CreatedTime)
  return {
    id,
    uid: `${id}@${createdAt ?? ''}`,
    createdAt,
    tags,
    raw: balancer,
    group: applicationOf(id),
    facts: { name: id },
  }
}

async function v2Resource({ sdk, elbV2, account }: AwsSession, balancer: LoadBalancer): Promise<AwsResource> {
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
