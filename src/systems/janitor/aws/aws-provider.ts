import type { AwsTarget, AwsTypeName } from '../../../apis/cleanup-policy.ts'
import type { ProviderAccount } from '../../../apis/provider-account.ts'
import type { Subject } from '../../../departures/subjects/subject.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { Network } from '../../../runtime/http/http.ts'
import { expirationMark } from '../../../departures/door/protection.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import { cloudCluster } from '../verdict/protection.ts'
import type { Observation, ObserveRequest, Provider, ResourceRef } from '../verdict/provider.ts'
import { InventoryError, unknownUse, type Resource, type Use } from '../model/resource.ts'
import { describePrice, pricedParts } from '../../../prices/aws-prices.ts'
import { pricesIn, type Prices } from '../../../prices/prices.ts'
import { awsFacts } from './aws-facts.ts'
import { awsObject, awsSubject, readAwsResource } from './read/aws-subject.ts'
import type { AwsResource, AwsType } from './read/aws-type.ts'
import { awsTypes } from './aws-types.ts'
import { Evidence, type ClusterUse } from './read/evidence.ts'
import { inventoryError } from './read/listing.ts'
import { openSession, timeAtAws, type AwsCredentials, type AwsSession } from './read/session.ts'

export interface AwsProviderPorts {
  readonly clock: Clock
  /** Reaches the endpoints and Eureka servers that accounts name. */
  readonly network: Pick<Network, 'http' | 'agents'>
  /** All ProviderAccounts. */
  readonly accounts: () => readonly ProviderAccount[]
  /** The decoded data of a Secret in Sojourn's namespace. */
  readonly secret: (name: string) => Promise<Readonly<Record<string, string>>>
  /** Images, volumes and snapshots that a cluster uses; throws when a cluster cannot be listed. Defaults to none. */
  readonly clusters?: (signal: AbortSignal) => Promise<ClusterUse>
  readonly prices: Prices
}

const prefix = 'aws'

/** Resources of AWS accounts, through the official SDK. */
export class AwsProvider implements Provider {
  readonly name = prefix
  readonly #ports: AwsProviderPorts
  /** By account, its generation, and region: a changed account gets a new session. */
  readonly #sessions = new Map<string, Promise<AwsSession>>()

  constructor(ports: AwsProviderPorts) {
    this.#ports = ports
  }

  locations({ targets }: CompiledPolicy): readonly string[] {
    const places = targets.flatMap(({ aws }) =>
      (aws?.accounts ?? []).flatMap((account) =>
        this.#regionsOf(account, aws?.locations).map((region) => `${prefix}/${account}/${region}`),
      ),
    )
    return [...new Set(places)]
  }

  async observe({ policy, location, signal }: ObserveRequest): Promise<Observation> {
    const { account, region } = parseLocation(location)
    const session = await this.#session(account, region)
    const { clusters, prices } = this.#ports
    const evidence = new Evidence(session, {
      sessions: () => this.#allSessions(region),
      ...(clusters ? { clusters: () => clusters(signal) } : {}),
    })
    const observedAt = this.#ports.clock.now()
    const resources: Resource[] = []
    for (const type of typesAt(policy, account, region))
      resources.push(...(await observeType(awsTypes[type], evidence, prices)))
    const counted = evidence.references > 0 || policy.safety.minInventory > 0 ? { references: evidence.references } : {}
    return { resources, observedAt, owners: {}, ...counted }
  }

  async subject(ref: ResourceRef, { force = false }: { readonly force?: boolean } = {}): Promise<Subject> {
    const session = await this.#session(ref.account ?? '', ref.region ?? '')
    return awsSubject(session, findType(ref.kind), ref.name, { force })
  }

  async setNeverExpires(ref: ResourceRef, isProtected: boolean): Promise<boolean> {
    const session = await this.#session(ref.account ?? '', ref.region ?? '')
    const type = findType(ref.kind)
    const resource = await readAwsResource(session, type, ref.name)
    if (!resource || !type.tag || (ref.uid && resource.uid !== ref.uid)) return false
    await type.tag(session, resource, { key: expirationMark, value: isProtected ? 'never' : undefined })
    return true
  }

  async currentTime(location: string): Promise<number | undefined> {
    const { account, region } = parseLocation(location)
    const session = await this.#session(account, region)
    return timeAtAws(session).catch((error: unknown) => {
      throw inventoryError(`the clock of ${account}`, error)
    })
  }

  close(): void {
    for (const opening of this.#sessions.values()) void opening.then((session) => session.close()).catch(() => {})
    this.#sessions.clear()
  }

  #regionsOf(name: string, locations: readonly string[] | undefined): readonly string[] {
    const regions = this.#account(name)?.spec.regions ?? []
    return locations ? locations.filter((location) => regions.includes(location)) : regions
  }

  #account(name: string): ProviderAccount | undefined {
    return this.#ports.accounts().find(({ metadata }) => metadata.name === name)
  }

  /** The sessions of all accounts with a region. Rejects when one cannot be opened: the use of shared images is then unknown. */
  #allSessions(region: string): Promise<readonly AwsSession[]> {
    const accounts = this.#ports
      .accounts()
      .filter(({ spec }) => spec.provider === 'aws' && spec.regions.includes(region))
    return Promise.all(accounts.map(({ metadata }) => this.#session(metadata.name, region)))
  }

  async #session(name: string, region: string): Promise<AwsSession> {
    const account = this.#account(name)
    if (!account) throw new InventoryError(`there is no ProviderAccount ${name}`)
    const key = `${name}\n${account.metadata.generation ?? 0}\n${region}`
    const known = this.#sessions.get(key)
    if (known) return known
    const { clock, network, secret } = this.#ports
    const keys = async () =>
      account.spec.secretRef ? credentialsIn(await secret(account.spec.secretRef.name)) : undefined
    const opening = openSession({ account: name, spec: account.spec, region, keys, clock, network }).catch(
      (error: unknown) => {
        this.#sessions.delete(key)
        throw inventoryError(`account ${name}`, error)
      },
    )
    this.#sessions.set(key, opening)
    return opening
  }
}

async function observeType(type: AwsType, evidence: Evidence, prices: Prices): Promise<readonly Resource[]> {
  const { session } = evidence
  const listed = await type.list(session)
  const detect = await type.detect(evidence).catch((error: Error) => () => unknownUse(error.message))
  return listed.map((resource) => {
    const use = unlessOfCluster(detect(resource), resource)
    return resourceOf(type, resource, { session, use, prices })
  })
}

/** What a controller in a cluster made is in its care: it may be between two uses, and would be made again under another name or address. */
function unlessOfCluster(use: Use, { tags }: AwsResource): Use {
  const mark = use.state === 'unused' ? Object.keys(tags).find((key) => clusterTags.test(key)) : undefined
  if (mark === undefined) return use
  return unknownUse(
    `its tag ${mark} says that a Kubernetes cluster manages it, and Sojourn sees no object that uses it`,
  )
}

/** Tags of the cloud provider, of controllers for load balancers, volumes and nodes, and of Velero. */
const clusterTags =
  /^(?:(?:[\w.-]+\.)?(?:kubernetes\.io|k8s\.io|k8s\.aws|k8s\.amazonaws\.com|karpenter\.sh|eksctl\.io|ebs\.csi\.aws\.com|velero\.io)\/|KubernetesCluster$|CSIVolume|(?:aws:)?eks:cluster-name$)/

function resourceOf(
  type: AwsType,
  resource: AwsResource,
  { session, use, prices }: { readonly session: AwsSession; readonly use: Use; readonly prices: Prices },
): Resource {
  const object = awsObject(type, resource)
  const { account, region } = session
  return {
    provider: prefix,
    kind: type.name,
    apiVersion: object.apiVersion,
    name: resource.id,
    uid: resource.uid,
    resourceVersion: object.metadata.resourceVersion,
    cluster: cloudCluster(session),
    account,
    region,
    createdAt: resource.createdAt,
    about: aboutOf(type, resource, { prices: pricesIn(prices.aws, region), currency: prices.currency }),
    tags: resource.tags,
    labels: resource.tags,
    use,
    facts: awsFacts(type, resource, use),
    object,
    group: resource.group,
    shield: resource.shield,
  }
}

/** `web-data, 100 GiB gp3, about 8.00 USD a month`. */
function aboutOf(
  { name: type }: AwsType,
  { tags, facts, raw }: AwsResource,
  prices: Parameters<typeof describePrice>[1],
): string | undefined {
  const name = tags['Name'] ?? (facts?.['name'] as string | undefined)
  const parts = pricedParts(type, raw)
  return [name, parts && describePrice(parts, prices)].filter(Boolean).join(', ') || undefined
}

function typesAt({ targets }: CompiledPolicy, account: string, region: string): readonly AwsTypeName[] {
  const here = ({ accounts, locations }: AwsTarget) =>
    accounts.includes(account) && (!locations || locations.includes(region))
  return [...new Set(targets.flatMap(({ aws }) => (aws && here(aws) ? aws.resourceTypes : [])))]
}

function parseLocation(location: string): { readonly account: string; readonly region: string } {
  const [, account = '', region = ''] = location.split('/')
  return { account, region }
}

function findType(name: string): AwsType {
  const found = Object.values(awsTypes).find((type) => type.name.toLowerCase() === name.toLowerCase())
  if (!found) throw new InventoryError(`unknown AWS resource type ${name}`)
  return found
}

function credentialsIn({
  accessKeyId = '',
  secretAccessKey = '',
  sessionToken,
}: Readonly<Record<string, string>>): AwsCredentials {
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
}
