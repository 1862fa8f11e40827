import { describe, expect, it } from 'vitest'
import { importSwabbie } from './import-swabbie.ts'

/** The configuration in Swabbie's documentation, written anew, with what Sojourn needs in addition: mail server and account. */
const documented = `
orca: { baseUrl: http://orca }
front50: { baseUrl: http://front50 }
clouddriver: { baseUrl: http://clouddriver }
echo: { baseUrl: http://echo }
redis: { enabled: true }
okHttpClient: { propagateSpinnakerHeaders: true, connectTimeoutMs: 60000, readTimeoutMs: 60000 }
locking:
  enabled: true
  maximumLockDurationMillis: 7200000
  heartbeatRateMillis: 5000
  leaseDurationMillis: 60000
swabbie:
  dryRun: false
  work:
    intervalMs: 1200000
  queue:
    monitorIntervalMs: 600000
  providers:
    - name: aws
      locations: [us-east-1]
      accounts: [test]
      maxItemsProcessedPerCycle: 20
      itemsProcessedBatchSize: 4
      deleteSpreadMs: 3600000
      exclusions:
        - type: Literal
          attributes: [{ key: name, value: ["pattern:^base"] }]
      resourceTypes:
        - name: serverGroup
          enabled: true
          dryRun: false
          entityTaggingEnabled: true
          retention: 2
          maxAge: 30
          enabledActions: [MARK, NOTIFY, DELETE]
          enabledRules:
            - operator: AND
              description: Empty and disabled for more than 45 days.
              rules:
                - name: ZeroInstanceRule
                - name: DisabledLoadBalancerRule
                  parameters:
                    moreThanDays: 45
            - operator: OR
              description: Expired.
              rules:
                - name: ExpiredResourceRule
          notification:
            enabled: true
            types: [EMAIL]
            itemsPerMessage: 7
            defaultDestination: cleanup@example.org
            optOutBaseUrl: https://gate/cleanup/resources
            resourceUrl: http://spin/{{application}}/{{cloudProvider}}/{{env}}/{{region}}/{{resourceId}}
            docsUrl: http://manuals/clean-up
logging: { config: /opt/logback.xml }
smtp: { host: mail.example.org, from: janitor@example.org }
accounts: [{ name: test, accountId: "111111111111", regions: [us-east-1] }]
`

type Read = (imported: ReturnType<typeof importSwabbie>) => unknown

const spec = ({ objects }: ReturnType<typeof importSwabbie>, kind = 'CleanupPolicy') =>
  objects.find((object) => object.kind === kind)?.spec as Record<string, never> | undefined
const inPolicy =
  (...path: readonly string[]): Read =>
  (imported) =>
    path.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], spec(imported))
const notices =
  (text: string): Read =>
  ({ notices: found }) =>
    found.some((notice) => notice.startsWith(text))

/** A line, what it becomes, what it means in Sojourn, and the values of that before and after. */
const lines: readonly (readonly [line: string, other: string, read: Read, before: unknown, after: unknown])[] = [
  ['orca: { baseUrl: http://orca }', '', notices('orca is ignored'), true, false],
  ['front50: { baseUrl: http://front50 }', '', notices('front50 is ignored'), true, false],
  ['clouddriver: { baseUrl: http://clouddriver }', '', notices('clouddriver is ignored'), true, false],
  ['echo: { baseUrl: http://echo }', '', notices('echo is ignored'), true, false],
  ['redis: { enabled: true }', '', notices('redis is ignored'), true, false],
  ['okHttpClient: { propagate', 'other: { propagate', notices('okHttpClient is ignored'), true, false],
  ['logging: { config', 'other: { config', notices('logging is ignored'), true, false],
  ['  enabled: true\n  maximum', '  enabled: false\n  maximum', ({ lease }) => lease?.retryMs, 5000, 5000],
  ['maximumLockDurationMillis: 7200000', 'maximumLockDurationMillis: 1', ({ problems }) => problems.length, 0, 0],
  ['heartbeatRateMillis: 5000', 'heartbeatRateMillis: 6000', ({ lease }) => lease?.retryMs, 5000, 6000],
  ['leaseDurationMillis: 60000', 'leaseDurationMillis: 30000', ({ lease }) => lease?.durationMs, 60_000, 30_000],
  ['  dryRun: false\n  work', '  work', inPolicy('dryRun'), false, true],
  ['intervalMs: 1200000', 'intervalMs: 300000', inPolicy('interval'), '20m', '10m'],
  ['monitorIntervalMs: 600000', 'monitorIntervalMs: 3600000', inPolicy('interval'), '20m', '1h'],
  [
    'locations: [us-east-1]\n',
    'locations: [eu-west-1]\n',
    (all) => target(all).locations,
    ['us-east-1'],
    ['eu-west-1'],
  ],
  ['    - name: aws', '    - name: gcp', ({ problems }) => problems.length, 0, 1],
  ['type: Literal', 'type: Tag', inPolicy('exclusions', '0', 'type'), 'Literal', 'Tag'],
  ['accounts: [test]', 'accounts: [nowhere]', ({ problems }) => problems.length, 0, 1],
  ['maxItemsProcessedPerCycle: 20', 'maxItemsProcessedPerCycle: 9', inPolicy('limits', 'maxMarks'), 20, 9],
  ['maxItemsProcessedPerCycle: 20', 'maxItemsProcessedPerCycle: 9', inPolicy('limits', 'maxDeletes'), 20, 9],
  ['itemsProcessedBatchSize: 4', 'itemsProcessedBatchSize: 2', inPolicy('limits', 'batchSize'), 4, 2],
  ['deleteSpreadMs: 3600000', 'deleteSpreadMs: 60000', inPolicy('limits', 'deleteSpread'), '1h', '1m'],
  [
    'pattern:^base',
    'pattern:^core',
    inPolicy('exclusions', '0', 'attributes', '0', 'value', '0'),
    'pattern:^base',
    'pattern:^core',
  ],
  ['name: serverGroup', 'name: image', (all) => target(all).resourceTypes, ['serverGroup'], ['image']],
  ['enabled: true\n          dryRun', 'enabled: false\n          dryRun', inPolicy('suspend'), false, true],
  ['          dryRun: false', '          dryRun: true', inPolicy('dryRun'), false, true],
  [
    'entityTaggingEnabled: true',
    'entityTaggingEnabled: false',
    notices('swabbie.providers[0].resourceTypes[0]: entity'),
    true,
    false,
  ],
  ['retention: 2', 'retention: 5', inPolicy('retention', 'duration'), '2d', '5d'],
  ['maxAge: 30', 'maxAge: 3', inPolicy('minAge'), '30d', '3d'],
  ['[MARK, NOTIFY, DELETE]', '[MARK]', inPolicy('actions', 'length'), 3, 1],
  ['operator: AND', 'operator: OR', inPolicy('rules', '0', 'operator'), 'AND', 'OR'],
  [
    'Empty and disabled',
    'Other',
    inPolicy('rules', '0', 'description'),
    'Empty and disabled for more than 45 days.',
    'Other for more than 45 days.',
  ],
  [
    'name: ZeroInstanceRule',
    'name: ZeroLoadBalancerRule',
    inPolicy('rules', '0', 'rules', '0', 'name'),
    'ZeroInstanceRule',
    'ZeroLoadBalancerRule',
  ],
  [
    'name: DisabledLoadBalancerRule',
    'name: NotInDiscoveryRule',
    inPolicy('rules', '0', 'rules', '1', 'name'),
    'DisabledLoadBalancerRule',
    'NotInDiscoveryRule',
  ],
  ['operator: OR', 'operator: AND', inPolicy('rules', '1', 'operator'), 'OR', 'AND'],
  ['description: Expired.', 'description: Old.', inPolicy('rules', '1', 'description'), 'Expired.', 'Old.'],
  ['moreThanDays: 45', 'moreThanDays: 5', inPolicy('rules', '0', 'rules', '1', 'parameters', 'moreThanDays'), 45, 5],
  [
    'name: ExpiredResourceRule',
    'name: AgeRule',
    inPolicy('rules', '1', 'rules', '0', 'name'),
    'ExpiredResourceRule',
    'AgeRule',
  ],
  [
    'enabled: true\n            types',
    'enabled: false\n            types',
    inPolicy('notification', 'channels'),
    ['swabbie-mail'],
    undefined,
  ],
  ['types: [EMAIL]', 'types: [SMS]', ({ problems }) => problems.length, 0, 1],
  ['itemsPerMessage: 7', 'itemsPerMessage: 3', inPolicy('notification', 'itemsPerMessage'), 7, 3],
  ['cleanup@example.org', 'ops@example.org', inPolicy('owner', 'default'), 'cleanup@example.org', 'ops@example.org'],
  [
    'https://gate/cleanup',
    'https://here/cleanup',
    inPolicy('notification', 'optOutBaseUrl'),
    'https://gate/cleanup/resources',
    'https://here/cleanup/resources',
  ],
  [
    'http://manuals/clean-up',
    'http://docs',
    inPolicy('notification', 'docsUrl'),
    'http://manuals/clean-up',
    'http://docs',
  ],
  [
    'resourceUrl: http://spin/',
    'resourceUrl: http://x/',
    (all) => String(inPolicy('notification', 'resourceUrl')(all)).slice(0, 13),
    'http://spin/{',
    'http://x/{{ap',
  ],
]

/** Lines that only open a section, and those that Sojourn needs beside Swabbie's. */
const structure = /^\s*(?:- )?[a-zA-Z]+:$|^$|^smtp:|^accounts: \[\{/

function target(imported: ReturnType<typeof importSwabbie>) {
  return inPolicy('targets', '0', 'aws')(imported) as { locations: string[]; resourceTypes: string[] }
}

describe('the configuration in Swabbie’s documentation', () => {
  it('is imported without a problem, and every key of it is known or named', () => {
    const { problems, notices: found } = importSwabbie(documented)
    expect(problems).toEqual([])
    expect(found.filter((notice) => notice.includes('no such setting'))).toEqual([])
    expect(found).toContainEqual(expect.stringContaining('entityTaggingEnabled is ignored'))
  })

  it('has a case below for every line', () => {
    const uncovered = documented
      .split('\n')
      .filter(
        (line) => !structure.test(line) && !lines.some(([part]) => line.includes(part.trim().split('\n')[0] ?? '')),
      )
    expect(uncovered).toEqual([])
  })

  it.each(lines)('means what it meant: %s', (line, other, read, before, after) => {
    expect(documented.split(line)).toHaveLength(2)
    expect(read(importSwabbie(documented))).toEqual(before)
    expect(read(importSwabbie(documented.replace(line, other)))).toEqual(after)
  })
})

/** The configurations of Swabbie's own tests, written anew: types on and off, a dry one, defaults, and the rule for tests. */
const tested = (types: string, more = '') => `
swabbie:
  dryRun: false
${more}
  providers:
    - name: aws
      locations: [us-east-1, us-west-2]
      accounts: [test]
      resourceTypes:
${types}
accounts: [{ name: test, regions: [us-east-1] }]
`

describe('the configurations in Swabbie’s tests', () => {
  const rules = 'enabledRules: [{ rules: [{ name: OrphanedELBRule }] }]'
  const named = (types: string, more?: string) =>
    importSwabbie(tested(types, more)).objects.filter(({ kind }) => kind === 'CleanupPolicy')

  it('C50: take the documented defaults of a type that names nothing', () => {
    const [policy] = named(`        - { name: loadBalancer, enabled: true, ${rules} }`)
    expect(policy?.spec).toMatchObject({
      retention: { duration: '14d' },
      minAge: '14d',
      actions: ['Mark', 'Notify', 'Delete'],
      limits: { maxMarks: 10, maxDeletes: 10, batchSize: 5, deleteSpread: '0s' },
      interval: '15m',
      scheduleRef: 'swabbie',
    })
    expect(policy?.spec).not.toHaveProperty('notification')
  })

  it('C51: suspend a type that is off, and keep a dry one dry', () => {
    const policies = named(
      `        - { name: loadBalancer, enabled: true, ${rules} }
        - { name: image, enabled: false, enabledRules: [{ rules: [{ name: OrphanedImageRule }] }] }
        - { name: snapshot, enabled: true, dryRun: true, enabledRules: [{ rules: [{ name: OrphanedSnapshotRule }] }] }`,
    )
    expect(policies.map(({ spec: found }) => found)).toMatchObject([
      { suspend: false, dryRun: false },
      { suspend: true, unusedFor: '30d', safety: { minInventory: 500 } },
      { suspend: false, dryRun: true },
    ])
  })

  it('C42: refuse a rule that means nothing for its type, with the place', () => {
    const { problems } = importSwabbie(
      tested('        - { name: image, enabled: true, enabledRules: [{ rules: [{ name: ZeroInstanceRule }] }] }'),
    )
    expect(problems).toEqual([
      'swabbie.providers[0].resourceTypes[0]: spec.rules[0].rules[0].name: ZeroInstanceRule is about serverGroup, which this policy does not target: its branch would never match',
    ])
  })

  it('hit exactly the listed ids with the rule for tests', () => {
    const testing =
      '  testing: { enabled: true, alwaysCleanRuleConfig: { enabled: true, resourceIds: [ami-1, ami-2] } }'
    const [policy] = named(
      '        - { name: image, enabled: true, enabledRules: [{ rules: [{ name: AlwaysCleanRule }] }] }',
      testing,
    )
    expect(policy?.spec).toMatchObject({
      rules: [{ rules: [{ name: 'AlwaysCleanRule', parameters: { resourceIds: ['ami-1', 'ami-2'] } }] }],
    })
    expect(importSwabbie(tested('', testing)).testing).toEqual({ resourceIds: ['ami-1', 'ami-2'] })
  })

  it.each([
    ['Allowlist', 'swabbieResourceOwner', 'ann@example.org'],
    ['Account', 'name', 'prod'],
    ['Tag', 'keep', 'true'],
    ['Literal', 'name', 'pattern:^important'],
  ])('C43: keep an exclusion of type %s as it is', (type, key, value) => {
    const exclusion = `exclusions: [{ type: ${type}, attributes: [{ key: ${key}, value: ["${value}"] }] }]`
    const [policy] = named(`        - { name: loadBalancer, enabled: true, ${rules}, ${exclusion} }`)
    expect(policy?.spec).toMatchObject({ exclusions: [{ type, attributes: [{ key, value: [value] }] }] })
  })
})
