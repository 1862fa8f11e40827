import type { AutoScalingGroup, LaunchConfiguration } from '@aws-sdk/client-auto-scaling'
import type { Image, Instance, LaunchTemplateVersion, NetworkInterface } from '@aws-sdk/client-ec2'
import { unknownUse, type Use } from '../../model/resource.ts'
import { askEach, listCompletely, inventoryError } from './listing.ts'
import type { AwsSession } from './session.ts'

/** By image as containers name it, and by id of a volume or snapshot: the object that uses it in a cluster that Sojourn sees. */
export type ClusterUse = ReadonlyMap<string, string>

/** Where evidence lies beyond the account itself. */
export interface EvidenceSources {
  /** All ProviderAccounts with this region: another account may use an image. Defaults to the account alone. */
  readonly sessions?: () => Promise<readonly AwsSession[]>
  /** Throws when a cluster cannot be listed. Defaults to no cluster. */
  readonly clusters?: () => Promise<ClusterUse>
}

/** Evidence of use in one region. Each list is read at most once per inventory; every method throws when its list is incomplete. */
export class Evidence {
  readonly session: AwsSession
  readonly #sources: EvidenceSources
  readonly #results = new Map<string, Promise<unknown>>()
  /** The number of references found, compared with `safety.minInventory`. */
  references = 0

  constructor(session: AwsSession, sources: EvidenceSources = {}) {
    this.session = session
    this.#sources = sources
  }

  sessions(): Promise<readonly AwsSession[]> {
    return this.#once('sessions', this.#sources.sessions ?? (async () => [this.session]))
  }

  clusters(): Promise<ClusterUse> {
    return this.#once('clusters', this.#sources.clusters ?? (async () => new Map()))
  }

  groups(session = this.session): Promise<readonly AutoScalingGroup[]> {
    const { sdk, autoScaling: client, account } = session
    return this.#once(`groups/${account}`, () =>
      listCompletely(
        { what: `auto-scaling groups of ${account}`, pageSize: 100, items: 'AutoScalingGroups' },
        (pageSize: number) => sdk.autoScaling.paginateDescribeAutoScalingGroups({ client, pageSize }, {}),
      ),
    )
  }

  launchConfigurations(session = this.session): Promise<readonly LaunchConfiguration[]> {
    const { sdk, autoScaling: client, account } = session
    return this.#once(`launch-configurations/${account}`, () =>
      listCompletely(
        { what: `launch configurations of ${account}`, pageSize: 100, items: 'LaunchConfigurations' },
        (pageSize: number) => sdk.autoScaling.paginateDescribeLaunchConfigurations({ client, pageSize }, {}),
      ),
    )
  }

  /** Instances in every state except terminated: pending and stopped instances need their image, too. */
  instances(session = this.session): Promise<readonly Instance[]> {
    const { sdk, ec2: client, account } = session
    return this.#once(`instances/${account}`, async () => {
      const reservations = await listCompletely(
        { what: `instances of ${account}`, pageSize: 1000, items: 'Reservations' },
        (pageSize: number) => sdk.ec2.paginateDescribeInstances({ client, pageSize }, {}),
      )
      return reservations.flatMap(({ Instances = [] }) => Instances).filter(({ State }) => State?.Name !== 'terminated')
    })
  }

  /** The template versions from which instances can start: latest, default, and those that groups name. */
  templateVersions(session = this.session): Promise<readonly LaunchTemplateVersion[]> {
    const { sdk, ec2: client, account } = session
    return this.#once(`template-versions/${account}`, async () => {
      const named = namedVersions(await this.groups(session))
      const general = await listCompletely(
        { what: `launch template versions of ${account}`, pageSize: 200, items: 'LaunchTemplateVersions' },
        (pageSize: number) =>
          sdk.ec2.paginateDescribeLaunchTemplateVersions({ client, pageSize }, { Versions: ['$Latest', '$Default'] }),
      )
      const special: LaunchTemplateVersion[] = []
      for (const { template, versions } of named) {
        const answer = await client
          .send(new sdk.ec2.DescribeLaunchTemplateVersionsCommand({ ...template, Versions: versions }))
          .catch((error: unknown) => {
            throw inventoryError(`launch template versions of ${account}`, error)
          })
        special.push(...(answer.LaunchTemplateVersions ?? []))
      }
      return [...general, ...special]
    })
  }

  networkInterfaces(): Promise<readonly NetworkInterface[]> {
    const { sdk, ec2: client, account } = this.session
    return this.#once('network-interfaces', () =>
      listCompletely(
        { what: `network interfaces of ${account}`, pageSize: 1000, items: 'NetworkInterfaces' },
        (pageSize: number) => sdk.ec2.paginateDescribeNetworkInterfaces({ client, pageSize }, {}),
      ),
    )
  }

  /** The account's own images. Disabled and deprecated ones use their snapshots, too. */
  images(): Promise<readonly Image[]> {
    return this.#once('images', () => ownImages(this.session, { IncludeDisabled: true }))
  }

  /** By id: the use of what is shared with an account, organization or group that has no ProviderAccount. */
  async sharedUse(
    ids: readonly string[],
    sharedWith: (id: string) => Promise<readonly (string | undefined)[]>,
  ): Promise<ReadonlyMap<string, Use>> {
    const known = new Set((await this.sessions()).map(({ accountId }) => accountId))
    const uses = new Map<string, Use>()
    await askEach(ids, async (id) => {
      const sharers = await sharedWith(id).catch((error: unknown) => {
        throw inventoryError(`sharing of ${id} of ${this.session.account}`, error)
      })
      const who = sharers.find((each) => each !== undefined && !known.has(each))
      const whose = who === 'all' ? 'everyone' : /^\d+$/.test(who ?? '') ? `account ${who}` : who
      if (who !== undefined) uses.set(id, unknownUse(`it is shared with ${whose}, where Sojourn cannot see its use`))
    })
    return uses
  }

  /** Caches a result, or a failure, for the rest of this inventory. */
  #once<T>(name: string, read: () => Promise<T>): Promise<T> {
    return this.#results.getOrInsertComputed(name, read) as Promise<T>
  }
}

/** Images that belong to the account, deprecated ones included. */
export function ownImages(
  { sdk, ec2: client, account }: AwsSession,
  more: { readonly IncludeDisabled?: boolean } = {},
): Promise<readonly Image[]> {
  return listCompletely({ what: `images of ${account}`, pageSize: 1000, items: 'Images' }, (pageSize: number) =>
    sdk.ec2.paginateDescribeImages({ client, pageSize }, { Owners: ['self'], IncludeDeprecated: true, ...more }),
  )
}

interface NamedVersions {
  readonly template: { readonly LaunchTemplateId?: string; readonly LaunchTemplateName?: string }
  readonly versions: string[]
}

/** The template versions that groups name, mixed instances and their overrides included. */
function namedVersions(groups: readonly AutoScalingGroup[]): readonly NamedVersions[] {
  const byTemplate = new Map<string, NamedVersions>()
  for (const specification of groups.flatMap(templatesOf)) {
    const { LaunchTemplateId: id, LaunchTemplateName: name, Version: version } = specification
    if (version === undefined || version.startsWith('$')) continue
    const key = id ?? name ?? ''
    const template = id ? { LaunchTemplateId: id } : { LaunchTemplateName: name ?? '' }
    const { versions } = byTemplate.getOrInsert(key, { template, versions: [] })
    if (!versions.includes(version)) versions.push(version)
  }
  return [...byTemplate.values()]
}

/** Every launch template a group may start instances from. */
export function templatesOf({ LaunchTemplate, MixedInstancesPolicy, Instances = [] }: AutoScalingGroup) {
  const mixed = MixedInstancesPolicy?.LaunchTemplate
  return [
    LaunchTemplate,
    mixed?.LaunchTemplateSpecification,
    ...(mixed?.Overrides ?? []).map((override) => override.LaunchTemplateSpecification),
    ...Instances.map((instance) => instance.LaunchTemplate),
  ].filter((specification) => specification !== undefined)
}
