import { cleanupCandidate, type CleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { cleanupPolicy, type AwsTypeName, type CleanupPolicy } from '../../apis/cleanup-policy.ts'
import { providerAccount, type ProviderAccount } from '../../apis/provider-account.ts'
import { readSecret } from '../../notices/open-channel.ts'
import { defaultPrices } from '../../prices/prices.ts'
import type { Client } from '../../client/client.ts'
import { networkHttp, type Network } from '../../runtime/http/http.ts'
import { Outgoing } from '../../runtime/http/outgoing.ts'
import { systemClock } from '../../runtime/time/clock.ts'
import { AwsProvider } from '../../systems/janitor/aws/aws-provider.ts'
import { awsTypes } from '../../systems/janitor/aws/aws-types.ts'
import { cloudUseOf } from '../../systems/janitor/kubernetes/cloud-use.ts'
import { describeResource, InventoryError, type Resource } from '../../systems/janitor/model/resource.ts'
import { describe, judge, noHistory } from '../../systems/janitor/verdict/judge.ts'
import { isActive } from '../../systems/janitor/decision/decide.ts'
import type { CompiledPolicy } from '../../systems/janitor/policy/policy.ts'
import { optOutFinder, protectionCheck } from '../../systems/janitor/verdict/protection.ts'
import type { Provider } from '../../systems/janitor/verdict/provider.ts'
import { candidateItem } from '../../queries/candidate-item.ts'
import { asSentence, itemSentences } from '../../queries/explain.ts'
import { historyOfPolicy, onlyDryRun, standingOf, verdictSentence } from '../../queries/explain-policies.ts'
import { Reader } from '../../queries/reader.ts'
import { UseLists } from '../../queries/use/use-lists.ts'

/** A cloud resource as status and notices name it. */
export interface CloudName {
  readonly type: AwsTypeName
  readonly id: string
}

/** `volume/vol-0123` in any case; undefined where no cloud resource is called that. */
export function cloudNameOf(word: string): CloudName | undefined {
  const [kind = ''] = word.split('/', 1)
  const found = Object.values(awsTypes).find(({ name }) => name.toLowerCase() === kind.toLowerCase())
  const id = word.slice(kind.length + 1)
  return found && id ? { type: found.name, id } : undefined
}

/** What every policy concludes about a cloud resource, as far as the caller may read its account, and its marks. Reads only. */
export async function explainCloudResource(client: Client, wanted: CloudName): Promise<readonly string[]> {
  const reader = new Reader(client)
  const network = networkHttp({ outgoing: new Outgoing({ for: 'administrators' }) })
  const ports = { client, network, signal: AbortSignal.timeout(timeoutMs) }
  const all = await reader.list<CleanupPolicy>(cleanupPolicy.type)
  const covering = all.filter(({ spec }) => spec.targets.some(({ aws }) => aws?.resourceTypes.includes(wanted.type)))
  const optOuts = await reader.list<CleanupOptOut>(cleanupOptOut.type)
  const marks = (await reader.list<CleanupCandidate>(cleanupCandidate.type)).filter(({ spec: { resource } }) =>
    isAbout(resource, wanted),
  )
  const provider = openProvider(ports, await reader.list<ProviderAccount>(providerAccount.type), all)
  const findings: Finding[] = []
  try {
    for (const policy of covering)
      findings.push(...(await findingsOf({ ...ports, provider, optOuts, marks }, policy, wanted)))
  } finally {
    provider.close()
    network.close()
  }
  const found = findings.filter(({ resource }) => resource)
  const items = marks.map(candidateItem).flatMap((item) => itemSentences(item, wanted.type, systemClock.now()))
  const sentences = [
    ...found.slice(0, 1).map(({ resource }) => describePlace(resource!)),
    ...items,
    ...findings.filter(({ isMissing }) => !isMissing || found.length === 0).map(({ said }) => said),
    ...(covering.length === 0 ? [`No CleanupPolicy targets a ${wanted.type}: Sojourn does not delete it`] : []),
    ...(reader.unread.length > 0 ? [`You may not read ${reader.unread.join(', ')}`] : []),
  ]
  return [...new Set(sentences)].filter(Boolean).map(asSentence)
}

const timeoutMs = 60_000

/** What a policy concludes at one of its locations. */
interface Finding {
  readonly resource?: Resource
  /** It is not there, or cannot be looked for: of interest only where it is found nowhere. */
  readonly isMissing?: true
  readonly said: string
}

interface CloudPorts {
  readonly client: Client
  readonly network: Network
  readonly signal: AbortSignal
}

interface Known extends CloudPorts {
  readonly provider: Provider
  readonly optOuts: readonly CleanupOptOut[]
  readonly marks: readonly CleanupCandidate[]
}

async function findingsOf(known: Known, policy: CleanupPolicy, wanted: CloudName): Promise<readonly Finding[]> {
  const whole = standingOf(policy)
  const { name } = policy.metadata
  if (typeof whole === 'string') return [{ said: `CleanupPolicy ${name} ${whole}` }]
  const targets = whole.targets.flatMap(({ aws }) =>
    aws?.resourceTypes.includes(wanted.type) ? [{ aws: { ...aws, resourceTypes: [wanted.type] } }] : [],
  )
  const compiled = { ...whole, targets }
  const { provider, signal } = known
  const locations = provider.locations(compiled)
  if (locations.length === 0)
    return [{ isMissing: true, said: `CleanupPolicy ${name} targets accounts whose credentials only the janitor has` }]
  return Promise.all(
    locations.map(async (location): Promise<Finding> => {
      try {
        const { resources } = await provider.observe({ policy: compiled, location, signal })
        const resource = resources.find((each) => isAbout(each, wanted))
        if (!resource)
          return { isMissing: true, said: `CleanupPolicy ${name} finds no ${wanted.type} ${wanted.id} in ${location}` }
        const said = await conclusion(known, { policy, compiled, location }, resource)
        return { resource, said: said && `CleanupPolicy ${name} ${said}` }
      } catch (error) {
        if (!(error instanceof InventoryError)) throw error
        return {
          isMissing: true,
          said: `CleanupPolicy ${name} could not be asked about ${location} with your rights: ${error.message}`,
        }
      }
    }),
  )
}

interface Where {
  readonly policy: CleanupPolicy
  readonly compiled: CompiledPolicy
  readonly location: string
}

/** '' where the mark of the policy says it. */
async function conclusion(
  { client, optOuts, marks }: Known,
  { policy, compiled, location }: Where,
  resource: Resource,
): Promise<string> {
  const { name } = policy.metadata
  const isMarked = ({ spec, status }: CleanupCandidate) =>
    spec.policy === name && spec.resource.uid === resource.uid && isActive(status?.phase ?? 'Marked')
  if (marks.some(isMarked)) return ''
  const last = policy.status?.locations?.[location] ?? {}
  if (last.wouldMark?.includes(describeResource(resource))) return onlyDryRun
  const now = systemClock.now()
  const ledger = policy.spec.unusedFor === undefined ? noHistory : await historyOfPolicy(client, name, location)
  const protection = protectionCheck(optOutFinder(optOuts), now)
  const verdict = judge(describe(resource, compiled, {}), compiled, { protection, owners: {}, ledger, now })
  return verdictSentence({ policy, compiled, last }, resource, verdict)
}

/** Whether a resource, as a mark or an opt-out names it, is called so. */
export function isAbout(resource: Named, { type, id }: CloudName): boolean {
  const { provider, kind, name = resource.id } = resource
  return provider === 'aws' && kind.toLowerCase() === type.toLowerCase() && name === id
}

interface Named {
  readonly provider?: string
  readonly kind: string
  readonly name?: string
  readonly id?: string
}

function describePlace({ kind, name, about, account, region }: Resource): string {
  return `It is the ${kind} ${name} of ProviderAccount ${account} in ${region}${about === undefined ? '' : `: ${about}`}`
}

function openProvider(
  { client, network, signal }: CloudPorts,
  accounts: readonly ProviderAccount[],
  policies: readonly CleanupPolicy[],
): Provider {
  const lists = new UseLists(client, signal)
  const elsewhere = policies
    .flatMap(({ spec }) => spec.targets.flatMap(({ kubernetes }) => kubernetes?.clusters ?? []))
    .filter((cluster) => cluster !== 'home')
  return new AwsProvider({
    network,
    clock: systemClock,
    prices: defaultPrices,
    // The credentials of the caller's machine may be those of any account.
    accounts: () => accounts.filter(({ spec }) => spec.secretRef ?? spec.accountId),
    secret: (name) =>
      readSecret(client, name).catch((error: unknown) => {
        throw new InventoryError((error as Error).message, { cause: error })
      }),
    clusters: async () => {
      if (elsewhere.length > 0) throw new InventoryError(`cluster ${elsewhere[0]} cannot be read from here`)
      return cloudUseOf([lists], signal)
    },
  })
}
