import { describe, expect, it } from 'vitest'
import type { CleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { importSwabbie } from './import-swabbie.ts'

const full = `
swabbie:
  dry-run: false
  outOfUseThresholdDays: \${days:20}
  minImagesUsedByLC: 5
  minImagesUsedByInst: 5
  schedule:
    enabled: true
    startTime: "09:00"
    endTime: "16:00"
    allowedDaysOfWeek: [monday, TUESDAY]
    defaultTimeZone: America/Los_Angeles
  providers:
    - name: aws
      locations: [us-east-1]
      accounts: [Test, prod]
      maxItemsProcessedPerCycle: 20
      resourcesPerNotification: 3
      exclusions:
        - type: Literal
          attributes: [{key: name, value: ["pattern:^base:"]}]
      resourceTypes:
        - name: image
          enabled: true
          retention: 7
          maxAge: 30
          exclusions:
            - type: Allowlist
              attributes: [{key: swabbieResourceOwner, value: [ann@example.org]}]
          enabledRules:
            - operator: AND
              rules: [{name: OrphanedImageRule}, {name: AgeRule, parameters: {moreThanDays: 60}}]
          notification:
            enabled: true
            types: [EMAIL]
            itemsPerMessage: 5
            defaultDestination: ops@example.org
        - name: snapshot
          enabled: false
          dryRun: true
          enabledActions: [MARK]
          enabledRules: [{rules: [{name: AttributeRule, parameters: {imageExists: false}}]}]
        - name: loadBalancer
          enabled: true
orca: {baseUrl: http://orca}
redis: {connection: redis://x}
locking: {enabled: true, maximumLockDurationMillis: 1, heartbeatRateMillis: 5000, leaseDurationMillis: 30000}
smtp: {host: mail.example.org, from: janitor@example.org}
accounts:
  - {name: test, accountId: "111111111111", regions: [us-east-1]}
  - {name: prod, accountId: "222222222222", roleArn: "arn:aws:iam::222222222222:role/x", regions: [us-east-1]}
`

const policyOf = (text: string, name: string) =>
  importSwabbie(text).objects.find(({ metadata }) => metadata.name === name) as CleanupPolicy | undefined

describe('a swabbie.yml', () => {
  it('C51: becomes a schedule, a channel, accounts and a policy per type', () => {
    const { objects, problems } = importSwabbie(full)
    expect(problems).toEqual([])
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'WorkSchedule swabbie',
      'NotificationChannel swabbie-mail',
      'ProviderAccount test',
      'ProviderAccount prod',
      'CleanupPolicy swabbie-aws-image',
      'CleanupPolicy swabbie-aws-snapshot',
    ])
    expect(objects[0]?.spec).toEqual({
      timeZone: 'America/Los_Angeles',
      windows: [{ days: ['Monday', 'Tuesday'], start: '09:00', end: '16:00' }],
    })
  })

  it('C51: merges the settings of a type with those of its provider', () => {
    expect(policyOf(full, 'swabbie-aws-image')?.spec).toMatchObject({
      suspend: false,
      dryRun: false,
      minAge: '30d',
      retention: { duration: '7d' },
      unusedFor: '20d',
      targets: [{ aws: { accounts: ['test', 'prod'], locations: ['us-east-1'], resourceTypes: ['image'] } }],
      exclusions: [
        { type: 'Allowlist' },
        { type: 'Literal', attributes: [{ key: 'name', value: ['pattern:^base:'] }] },
      ],
      owner: { default: 'ops@example.org' },
      notification: { channels: ['swabbie-mail'], itemsPerMessage: 5 },
      scheduleRef: 'swabbie',
      limits: { maxMarks: 20, maxDeletes: 20, maxUnmarks: 250 },
      safety: { minInventory: 5 },
    })
    expect(policyOf(full, 'swabbie-aws-snapshot')?.spec).toMatchObject({
      suspend: true,
      dryRun: true,
      actions: ['Mark'],
    })
  })

  it('C52: has all three actions in order, or those it names', () => {
    expect(policyOf(full, 'swabbie-aws-image')?.spec.actions).toEqual(['Mark', 'Notify', 'Delete'])
    expect(policyOf(full, 'swabbie-aws-snapshot')?.spec.actions).toEqual(['Mark'])
  })

  it('reports ignored settings and differences from Swabbie', () => {
    const { notices, lease } = importSwabbie(full)
    expect(notices).toContain('orca is ignored: Sojourn deletes resources itself')
    expect(notices).toContain('swabbie.providers[0].resourcesPerNotification is ignored: Sojourn has no such setting')
    expect(notices).toContain('swabbie.providers[0].resourceTypes[2] is ignored, as in Swabbie: it has no rules')
    expect(notices.some((notice) => notice.includes('incomplete'))).toBe(true)
    const unknown = notices.filter((notice) => notice.includes('no such setting'))
    expect(unknown).toEqual(['swabbie.providers[0].resourcesPerNotification is ignored: Sojourn has no such setting'])
    expect(lease).toEqual({ durationMs: 30_000, retryMs: 5000 })
  })

  it('C50: is a dry run unless it says otherwise, as in Swabbie', () => {
    expect(policyOf(full.replace('dry-run: false', ''), 'swabbie-aws-image')?.spec.dryRun).toBe(true)
  })

  it.each(['enabled: false', 'work: {enabled: true}'])('stops everything where Swabbie would: %s', (line) => {
    const stopped = full.replace('dry-run: false', `dry-run: false\n  ${line}`)
    expect(policyOf(stopped, 'swabbie-aws-image')?.spec.suspend).toBe(true)
  })

  it('reports accounts without discovery and ignored settings of Swabbie itself', () => {
    const asking = full.replace('name: OrphanedImageRule', 'name: NotInDiscoveryRule')
    const discovery = asking.replace(
      'dry-run: false',
      'dry-run: false\n  notification: {cron: {schedule: "0 0 9 * * ?"}}',
    )
    const { notices } = importSwabbie(discovery)
    expect(notices).toContainEqual(expect.stringMatching(/NotInDiscoveryRule .* cannot decide for test, prod:/))
    const half = asking.replace('{name: test,', '{name: test, eurekaUrl: https://eureka.example.org/eureka,')
    expect(importSwabbie(half).notices).toContainEqual(expect.stringMatching(/cannot decide for prod:/))
    const whole = half.replace('{name: prod,', '{name: prod, eurekaUrl: https://eureka.example.org/eureka,')
    expect(importSwabbie(whole).notices.join()).not.toContain('cannot decide')
    expect(notices.some((notice) => notice.startsWith('swabbie.notification is ignored: Sojourn sends notices'))).toBe(
      true,
    )
  })

  it('fills placeholders from the given variables', () => {
    const { objects } = importSwabbie(full, (name) => (name === 'days' ? '45' : undefined))
    expect((objects.at(-2) as CleanupPolicy).spec.unusedFor).toBe('45d')
  })

  it.each([
    ['a bad pattern', full.replace('pattern:^base:', 'pattern:('), 'spec.exclusions[1].attributes[0].value'],
    ['an unknown rule', full.replace('OrphanedImageRule', 'NoSuchRule'), 'unknown rule "NoSuchRule"'],
    ['an unknown exclusion', full.replace('type: Literal', 'type: Liberal'), 'unknown exclusion type "Liberal"'],
    [
      'an exclusion that needs applications',
      full.replace('type: Literal', 'type: Application'),
      'need a block "applications"',
    ],
    ['a bad zone', full.replace('America/Los_Angeles', 'America/Nowhere'), 'not a time zone'],
    ['a bad day', full.replace('monday', 'someday'), '"someday" is not a day of the week'],
    ['mails without a server', full.replace(/^smtp:.*$/m, ''), 'a block "smtp"'],
    ['accounts that are not described', full.replace(/^accounts:[^]*$/m, ''), 'must be described'],
    ['an invalid number', full.replace('retention: 7', 'retention: week'), 'must be a number'],
    [
      'an exclusion without values',
      full.replace('{key: name, value: ["pattern:^base:"]}', '{key: name}'),
      'this exclusion would protect nothing',
    ],
    [
      'an exclusion without attributes',
      full.replace('attributes: [{key: name, value: ["pattern:^base:"]}]', 'atributes: []'),
      'spec.exclusions[1].attributes: must not be empty: the exclusion would protect nothing',
    ],
    [
      'exclusions that are not a list',
      full.replace(/exclusions:\n {8}- type: Literal\n {10}attr.*$/m, 'exclusions: {type: Literal}'),
      'must be a list',
    ],
    ['another provider', full.replace('name: aws', 'name: gcp'), 'unknown provider "gcp"'],
  ])('is refused for %s', (_, text, problem) => {
    expect(importSwabbie(text).problems.join('\n')).toContain(problem)
  })

  it('needs no accounts block for one account with the credentials of the environment', () => {
    const one = full.replace('accounts: [Test, prod]', 'accounts: [test]').replace(/^accounts:[^]*$/m, '')
    const { objects, problems } = importSwabbie(one)
    expect(problems).toEqual([])
    expect(objects.find(({ kind }) => kind === 'ProviderAccount')?.spec).toEqual({
      provider: 'aws',
      regions: ['us-east-1'],
    })
  })
})
