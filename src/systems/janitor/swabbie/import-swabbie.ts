import { notificationChannel } from '../../../apis/notification-channel.ts'
import { providerAccount } from '../../../apis/provider-account.ts'
import { workSchedule } from '../../../apis/work-schedule.ts'
import { scheduleProblems } from '../../../apis/work-window.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { kubeName } from './kube-name.ts'
import { policiesOf } from './policies.ts'
import { readSettings, type Settings } from './settings.ts'

/** The result of importing a swabbie.yml. Callers must not apply any object if there are problems. */
export interface SwabbieImport {
  readonly objects: readonly KubeObject[]
  /** Differences from Swabbie, and settings that were ignored. */
  readonly notices: readonly string[]
  readonly problems: readonly string[]
  readonly testing: { readonly resourceIds: readonly string[] } | undefined
  readonly lease: { readonly durationMs: number; readonly retryMs: number } | undefined
}

const differences = [
  'opt-outs, exclusions and expiration_time: never also protect resources whose own ttl has expired',
  'the days and the hours of the schedule are both in its time zone',
  'a pattern is everything after "pattern:", an invalid pattern is an error, and the lists of a provider and a type are merged',
  'an inventory that may be incomplete changes nothing: no resource is marked, unmarked or deleted',
]

/** Sections that Sojourn ignores, with the reason. */
const ignoredSections: Readonly<Record<string, string>> = {
  orca: 'Sojourn deletes resources itself',
  front50: 'applications come from the block "applications"',
  clouddriver: 'accounts come from the block "accounts"',
  echo: 'Sojourn sends mails itself, as the block "smtp" says',
  edda: 'Sojourn lists resources from AWS',
  eddaEndpoints: 'Sojourn lists resources from AWS',
  redis: 'marks are Kubernetes objects',
  retrofit: 'Sojourn has no such client',
  okHttpClient: 'Sojourn has no such client',
  server: 'set the port with a flag of sojourn',
  services: 'Sojourn has no such services',
  logging: 'set the log level with a flag of sojourn',
  spring: 'Sojourn does not use Spring',
  management: 'Sojourn always serves metrics and health',
  eureka: 'janitors share work by Leases, and the eurekaUrl of each account is used for discovery',
}

/** Keys of the section `swabbie` that Sojourn ignores, with the reason. */
const ignoredKeys: Readonly<Record<string, string>> = {
  agents: 'Sojourn watches each deletion until the resource is absent',
  clean: 'Swabbie did not use it either',
  state: 'Sojourn keeps ended marks for 30 days',
  repository: 'Sojourn records use for as long as the policy needs it',
  notification: 'Sojourn sends notices as soon as a resource is marked, in the hours of the schedule',
}

/** Turns a swabbie.yml into objects of Sojourn's kinds. Throws ConfigError for a text that is not a configuration. */
export function importSwabbie(
  text: string,
  variable: (name: string) => string | undefined = () => undefined,
): SwabbieImport {
  const settings = readSettings(text, variable)
  const notices = [...differences]
  const problems: string[] = []
  const swabbie = settings.part('swabbie')
  for (const [key, reason] of Object.entries(ignoredSections))
    if (settings.has(key)) notices.push(`${key} is ignored: ${reason}`)
  for (const [key, reason] of Object.entries(ignoredKeys))
    if (swabbie.has(key)) notices.push(`swabbie.${key} is ignored: ${reason}`)
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
    notices.push(...settings.unread().map((key) => `${key} is ignored: Sojourn has no such setting`))
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
    if (!day) problems.push(`${schedule.path}.allowedDaysOfWeek: "${name}" is not a day of the week`)
    return day ?? 'Monday'
  })
  const spec = { timeZone, windows: [{ days: allowed, start, end }] }
  problems.push(...scheduleProblems(spec).map(({ field, problem }) => `${schedule.path}: ${field}: ${problem}`))
  return workSchedule.object({ name: 'swabbie' }, spec)
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
  if (!host || !from) throw new ConfigError('smtp: host and from are required')
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
  return notificationChannel.object({ name: 'swabbie-mail' }, spec)
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
    if (!name || spec.regions.length === 0) problems.push(`${account.path}: name and regions are required`)
    return providerAccount.object({ name: kubeName(name) }, spec)
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
  // A single account with the credentials of the environment needs no description.
  return unknown.map((name) =>
    providerAccount.object({ name }, { provider: 'aws', regions: [...(wanted.get(name) ?? [])] }),
  )
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
  notices.push(
    'locking is ignored: leaseDurationMillis must be at least three times heartbeatRateMillis; the defaults apply',
  )
  return undefined
}
