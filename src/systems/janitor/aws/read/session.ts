import type { AutoScalingClient } from '@aws-sdk/client-auto-scaling'
import type { EC2Client } from '@aws-sdk/client-ec2'
import type { ElasticLoadBalancingClient } from '@aws-sdk/client-elastic-load-balancing'
import type { ElasticLoadBalancingV2Client } from '@aws-sdk/client-elastic-load-balancing-v2'
import type { ProviderAccountSpec } from '../../../../apis/provider-account.ts'
import type { Http, Network } from '../../../../runtime/http/http.ts'
import type { Clock } from '../../../../runtime/time/clock.ts'
import { parseHttpDate } from '../../../../runtime/http/http-date.ts'
import { InventoryError } from '../../model/resource.ts'
import { loadSdk, type Sdk } from './sdk.ts'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** The configuration of every SDK client. */
export interface ClientConfig {
  readonly region: string
  readonly endpoint?: string
  readonly credentials?: () => Promise<AwsCredentials>
  /** Checks the address of every connection: an account may name its endpoint. */
  readonly requestHandler: Network['agents']
  readonly maxAttempts: number
  readonly retryMode: 'adaptive'
}

/** One account in one region, with its SDK clients. */
export interface AwsSession {
  readonly account: string
  readonly accountId: string
  readonly region: string
  /** The Eureka server at which its instances register. */
  readonly eurekaUrl: string | undefined
  readonly http: Http
  readonly sdk: Sdk
  readonly config: ClientConfig
  readonly ec2: EC2Client
  readonly autoScaling: AutoScalingClient
  readonly elb: ElasticLoadBalancingClient
  readonly elbV2: ElasticLoadBalancingV2Client
  /** The client of any other service, made on first use and closed with the session. */
  client<C extends { destroy(): void }>(type: new (config: ClientConfig) => C): C
  readonly now: () => number
  close(): void
}

export interface SessionOptions {
  readonly account: string
  readonly spec: ProviderAccountSpec
  readonly region: string
  /** The keys in the account's Secret; undefined for the credentials of the environment. */
  readonly keys: () => Promise<AwsCredentials | undefined>
  readonly clock: Clock
  readonly network: Pick<Network, 'http' | 'agents'>
}

/** Opens an account in a region. Throws when the credentials belong to another account than `spec.accountId`. */
export async function openSession({
  account,
  spec,
  region,
  keys,
  clock,
  network,
}: SessionOptions): Promise<AwsSession> {
  const sdk = await loadSdk()
  const base: Omit<ClientConfig, 'credentials'> = {
    region,
    ...(spec.endpoint ? { endpoint: spec.endpoint } : {}),
    requestHandler: network.agents,
    maxAttempts: 6,
    // Reduces the request rate when AWS throttles.
    retryMode: 'adaptive',
  }
  const own = await keys()
  const source = { ...base, ...(own ? { credentials: async () => own } : {}) }
  const credentials = spec.roleArn ? assumedRole(sdk, source, { spec, clock }) : source.credentials
  const config: ClientConfig = { ...base, ...(credentials ? { credentials } : {}) }
  const accountId = await identify(sdk, config)
  if (spec.accountId !== undefined && accountId !== spec.accountId)
    throw new InventoryError(
      `the credentials of ProviderAccount ${account} belong to account ${accountId}, not to ${spec.accountId}`,
    )
  const clients = new Map<unknown, { destroy(): void }>()
  const client: AwsSession['client'] = (Type) =>
    clients.getOrInsertComputed(Type, () => new Type(config)) as InstanceType<typeof Type>
  return {
    account,
    accountId,
    region,
    eurekaUrl: spec.eurekaUrl,
    http: network.http,
    sdk,
    config,
    client,
    now: () => clock.now(),
    ec2: client(sdk.ec2.EC2Client),
    autoScaling: client(sdk.autoScaling.AutoScalingClient),
    elb: client(sdk.elb.ElasticLoadBalancingClient),
    elbV2: client(sdk.elbV2.ElasticLoadBalancingV2Client),
    close() {
      for (const each of clients.values()) each.destroy()
    },
  }
}

/** Credentials of the account's role, renewed five minutes before they expire. */
function assumedRole(
  { sts }: Sdk,
  source: Omit<ClientConfig, 'credentials'> & { readonly credentials?: () => Promise<AwsCredentials> },
  { spec, clock }: { readonly spec: ProviderAccountSpec; readonly clock: Clock },
): () => Promise<AwsCredentials> {
  let current: { readonly credentials: AwsCredentials; readonly staleAt: number } | undefined
  return async () => {
    if (current && clock.monotonic() < current.staleAt) return current.credentials
    const client = new sts.STSClient(source)
    try {
      const { Credentials: given } = await client.send(
        new sts.AssumeRoleCommand({
          RoleArn: spec.roleArn,
          RoleSessionName: 'sojourn-janitor',
          DurationSeconds: roleSeconds,
          ...(spec.externalId ? { ExternalId: spec.externalId } : {}),
        }),
      )
      if (!given?.AccessKeyId || !given.SecretAccessKey || !given.SessionToken)
        throw new InventoryError(`AWS returned no credentials for role ${spec.roleArn}`)
      const credentials = {
        accessKeyId: given.AccessKeyId,
        secretAccessKey: given.SecretAccessKey,
        sessionToken: given.SessionToken,
      }
      current = { credentials, staleAt: clock.monotonic() + (roleSeconds - 300) * 1000 }
      return credentials
    } finally {
      client.destroy()
    }
  }
}

const roleSeconds = 3600

async function identify({ sts }: Sdk, config: ClientConfig): Promise<string> {
  const client = new sts.STSClient(config)
  try {
    const { Account } = await client.send(new sts.GetCallerIdentityCommand({}))
    return Account ?? ''
  } finally {
    client.destroy()
  }
}

/** The time of AWS's clock, from the Date header of a response. */
export async function timeAtAws({ sdk: { sts }, config }: AwsSession): Promise<number | undefined> {
  const client = new sts.STSClient(config)
  let date: string | undefined
  client.middlewareStack.add(
    (next) => async (request) => {
      const answer = await next(request)
      date = (answer.response as { headers?: Readonly<Record<string, string>> }).headers?.date
      return answer
    },
    { step: 'deserialize', name: 'sojournDate' },
  )
  try {
    await client.send(new sts.GetCallerIdentityCommand({}))
    return parseHttpDate(date)
  } finally {
    client.destroy()
  }
}
