import { notificationChannel } from '../../../apis/notification-channel.ts'
import { providerAccount } from '../../../apis/provider-account.ts'
import { workSchedule } from '../../../apis/work-schedule.ts'
import { scheduleProblems } from '../../../apis/work-window.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { kubeName } from './kube-name.ts'
import { policiesOf } from './policies.ts'
import { readSettings, type Settings } from './settings.ts'

/** What a swabbie.yml becomes. With problems, nothing of it may be used. */
export interface SwabbieImport {
  readonly objects: readonly KubeObject[]
  /** What is different here, and what was left out. */
  readonly notices: readonly string[]
  readonly problems: readonly string[]
  readonly testing: { readonly resourceIds: readonly string[] } | undefined
  readonly lease: { readonly durationMs: number; readonly retryMs: number } | undefined
}

const differences = [
  'opt-outs, exclusions and expiration_time: never count for resources whose own ttl is over, too',
  'days and hours of the schedule are both judged in its own time zone',
  'a pattern is everything after "pattern:", one that cannot be read is refused, and lists of a provider and a type are united',
  'a listing that may be incomplete changes nothing: no mark is made, lifted or carried out on it',
]

const replaced: Readonly<Record<string, string>> = {
  orca: 'deletions are made by ourselves',
  front50: 'applications come from the block "applications"',
  clouddriver: 'accounts come from the block "accounts"',
  echo: 'mails are sent by ourselves, through the block "smtp"',
  edda: 'inventories come from AWS itself',
  eddaEndpoints: 'inventories come from AWS itself',
  redis: 'marks are Kubernetes objects',
  retrofit: 'there is no such client',
  okHttpClient: 'there is no such client',
  server: 'the port is a flag of ours',
  services: 'there are no such services',
  logging: 'the log level is a flag of ours',
  spring: 'there is no Spring',
  management: 'metrics and health are always served',
  eureka: 'instances share work by Leases, and discovery is asked at the eurekaUrl of each account',
}

/** Settings of Swabbie itself that nothing here needs. */
const leftOut: Readonly<Record<string, string>> = {
  agents: 'deletions are watched until they are done',
  clean: 'Swabbie did not use it either',
  state: 'marks that ended are kept for 30 days',
  repository: 'use is followed as long as the policy needs it',
  notification: 'notices are sent as soon as something is marked, in the hours of the schedule',
}

/** Turns a swabbie.yml into our kinds. Throws ConfigError for what is no configuration at all. */
export function importSwabbie(
  text: string,
  variable: (name: string) => string | undefined = () => undefined,
): SwabbieImport {
  const settings = readSettings(text, variable)
  const notices = [...differences]
  const problems: string[] = []
  const swabbie = settings.part('swabbie')
  for (const [key, reason] of Object.entries(replaced))
    if (settings.has(key)) notices.push(`${key} is left out: ${reason}`)
  for (const [key, reason] of Object.entries(leftOut))
    if (swabbie.has(key)) notices.push(`swabbie.${key} is left out: ${reason}`)
  try {
    const schedule = scheduleOf(swabbie.part('schedule'), problems)
    const channel = channelOf(settings)
    const accounts = accountsOf(settings, swabbie, problems)
    const policies = policiesOf(settings, swabbie, {
      hasSchedule: schedule !== undefined,
      hasSmtp: channel !== undefined,
      accounts: accounts.map(({ metadata }) => metadata.name ?? ''),
      inDiscovery: new Set(accounts.flatMap(({ metadata, spec }) => (hasDiscovery(spec) ? [metadata.name ?? ''] : []))),
      notices,
      problems,
    })
    const testing = testingOf(swabbie)
    const lease = leaseOf(settings.part('locking'), notices)
    notices.push(...settings.unread().map((key) => `${key} means nothing here and was left out`))
    const objects = [...(schedule ? [schedule] : []), ...(channel ? [channel] : []), ...accounts, ...policies]
    return { objects, notices, problems, testing, lease }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { objects: [], notices, problems: [...problems, error.message], testing: undefined, lease: undefined }
  }
}

const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

function scheduleOf(schedule: Settings, problems: string[]): KubeObject | undefined {
  const enabled = schedule.flag('enabled') ?? true
  const start = clockTime(schedule.text('startTime') ?? '09:00')
  const end = clockTime(schedule.text('endTime') ?? '16:00')
  const named = schedule.texts('allowedDaysOfWeek') ?? ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY']
  const timeZone = schedule.text('defaultTimeZone') ?? 'America/Los_Angeles'
  if (!enabled) return undefined
  const allowed = named.map((name) => {
    const day = days.find((candidate) => candidate.toLowerCase() === name.toLowerCase())
    if (!day) problems.push(`${schedule.path}.allowedDaysOfWeek: "${name}" is no day of the week`)
    return day ?? 'Monday'
  })
  const spec = { timeZone, windows: [{ days: allowed, start, end }] }
  problems.push(...scheduleProblems(spec).map(({ field, problem }) => `${schedule.path}: ${field}: ${problem}`))
  return { apiVersion: workSchedule.apiVersion, kind: workSchedule.kind, metadata: { name: 'swabbie' }, spec }
}

function clockTime(text: string): string {
  const match = /^(\d{1,2}):(\d\d)(?::\d\d)?$/.exec(text.trim())
  if (!match) throw new ConfigError(`"${text}" is not a time such as 09:00`)
  return `${(match[1] ?? '').padStart(2, '0')}:${match[2]}`
}

function channelOf(settings: Settings): KubeObject | undefined {
  if (!settings.has('smtp')) return undefined
  const smtp = settings.part('smtp')
  const host = smtp.text('host')
  const from = smtp.text('from')
  if (!host || !from) throw new ConfigError('smtp needs host and from')
  const port = smtp.number('port')
  const secure = smtp.flag('secure')
  const secret = smtp.text('secret')
  const spec = {
    type: 'smtp',
    smtp: {
      host,
      from,
      ...(port === undefined ? {} : { port }),
      ...(secure === undefined ? {} : { secure }),
      ...(secret ? { secretRef: { name: secret } } : {}),
    },
  }
  return {
    apiVersion: notificationChannel.apiVersion,
    kind: notificationChannel.kind,
    metadata: { name: 'swabbie-mail' },
    spec,
  }
}

function hasDiscovery(spec: unknown): boolean {
  return (spec as { readonly eurekaUrl?: string }).eurekaUrl !== undefined
}

function accountsOf(settings: Settings, swabbie: Settings, problems: string[]): readonly KubeObject[] {
  const described = settings.parts('accounts').map((account) => {
    const name = account.text('name') ?? ''
    const roleArn = account.text('roleArn')
    const accountId = account.text('accountId')
    const externalId = account.text('externalId')
    const endpoint = account.text('endpoint')
    const secret = account.text('secret')
    const eurekaUrl = account.text('eurekaUrl')
    const spec = {
      provider: 'aws',
      regions: [...(account.texts('regions') ?? [])],
      ...(accountId ? { accountId } : {}),
      ...(roleArn ? { roleArn } : {}),
      ...(externalId ? { externalId } : {}),
      ...(endpoint ? { endpoint } : {}),
      ...(eurekaUrl ? { eurekaUrl } : {}),
      ...(secret ? { secretRef: { name: secret } } : {}),
    }
    if (!name || spec.regions.length === 0) problems.push(`${account.path} needs name and regions`)
    return {
      apiVersion: providerAccount.apiVersion,
      kind: providerAccount.kind,
      metadata: { name: kubeName(name) },
      spec,
    }
  })
  const known = new Set(described.map(({ metadata }) => metadata.name))
  const wanted = new Map<string, readonly string[]>()
  for (const provider of swabbie.parts('providers'))
    for (const name of provider.texts('accounts') ?? []) wanted.set(kubeName(name), provider.texts('locations') ?? [])
  const unknown = [...wanted.keys()].filter((name) => !known.has(name))
  if (unknown.length === 0) return described
  if (wanted.size > 1 || described.length > 0) {
    problems.push(
      `the accounts ${unknown.join(', ')} must be described in a block "accounts": name, accountId, roleArn, regions`,
    )
    return described
  }
  // One account and whatever credentials the machine has: nothing more needs to be said.
  return unknown.map((name) => ({
    apiVersion: providerAccount.apiVersion,
    kind: providerAccount.kind,
    metadata: { name },
    spec: { provider: 'aws', regions: [...(wanted.get(name) ?? [])] },
  }))
}

function testingOf(swabbie: Settings): SwabbieImport['testing'] {
  const testing = swabbie.part('testing')
  const enabled = testing.flag('enabled') ?? false
  const rule = testing.part('alwaysCleanRuleConfig')
  rule.flag('enabled')
  const resourceIds = [...(testing.texts('resourceIds') ?? []), ...(rule.texts('resourceIds') ?? [])]
  return enabled ? { resourceIds } : undefined
}

function leaseOf(locking: Settings, notices: string[]): SwabbieImport['lease'] {
  locking.flag('enabled')
  locking.number('maximumLockDurationMillis')
  const durationMs = locking.number('leaseDurationMillis')
  const retryMs = locking.number('heartbeatRateMillis')
  if (durationMs === undefined || retryMs === undefined) return undefined
  if (durationMs >= 3 * retryMs) return { durationMs, retryMs }
  notices.push('locking: the lease must last at least three heartbeats; our own times are used')
  return undefined
}
