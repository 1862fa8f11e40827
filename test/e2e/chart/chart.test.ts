import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { valueRows } from '../../../scripts/chart.ts'
import { installManifests } from '../../../src/app/install/install.ts'
import { clusterRoles } from '../../../src/app/install/rbac.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { describeWith, Session } from '../kubectl/session.ts'
import { chart, here, names, render as renderWith } from './rendered.ts'

await describeWith(['helm'], 'the chart', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start('helm')
  })
  afterAll(() => session?.[Symbol.asyncDispose]())

  const get = async (path: string) => {
    const { status, body } = await session.server.transport({ method: 'GET', path })
    return status === 200 ? (body as KubeObject & { readonly items?: readonly KubeObject[] }) : undefined
  }
  const render = (flags?: string) => renderWith(session, flags)

  it('grants what "sojourn install" grants, rule for rule', async () => {
    const options = { roles: clusterRoles, image: 'sojourn', replicas: 2, dryRun: false }
    const rulesOf = (objects: readonly KubeObject[]) =>
      Object.fromEntries(
        objects
          .filter(({ kind, metadata }) => /^(Cluster)?Role$/.test(kind) && !metadata.name?.includes('metrics'))
          // What exists only while Helm uninstalls has a test of its own.
          .filter(({ metadata }) => !metadata.annotations?.['helm.sh/hook'])
          .map(({ kind, metadata, rules, aggregationRule }) => [
            `${kind} ${metadata.name}`,
            { rules, aggregationRule },
          ]),
      )
    for (const admission of ['MAP', 'Webhook'] as const)
      expect(rulesOf(await render(`--set tenancy.admission=${admission}`))).toEqual(
        rulesOf(installManifests({ ...options, admission })),
      )
  })

  it('grants more only while Helm uninstalls: to scale the own Deployment', async () => {
    const granted = (await render())
      .filter(({ kind, metadata }) => kind.endsWith('Role') && metadata.annotations?.['helm.sh/hook'] === 'pre-delete')
      .map(({ kind, metadata, rules }) => [kind, metadata.annotations?.['helm.sh/hook-delete-policy'], rules])
    expect(granted).toEqual([
      [
        'Role',
        'before-hook-creation,hook-succeeded',
        [{ apiGroups: ['apps'], resources: ['deployments/scale'], resourceNames: ['sojourn'], verbs: ['patch'] }],
      ],
    ])
  })

  it('registers the same webhook as "sojourn install", unless it is disabled', async () => {
    const options = { roles: clusterRoles, image: 'sojourn', replicas: 2, dryRun: false }
    const webhooksOf = (objects: readonly KubeObject[]) =>
      objects.find(({ kind }) => kind === 'ValidatingWebhookConfiguration')?.['webhooks']
    expect(webhooksOf(await render())).toEqual(webhooksOf(installManifests(options)))
    const secrets = (objects: readonly KubeObject[]) => names(objects, 'Secret').toSorted()
    expect(secrets(await render())).toEqual(secrets(installManifests(options)))
    for (const without of ['webhook.enabled=false', 'roles.cleaner.enabled=false']) {
      const objects = await render(`--set ${without}`)
      expect([webhooksOf(objects), secrets(objects)]).toEqual([undefined, ['sojourn-promoter']])
    }
  })

  it('renders nothing for a role that is disabled', async () => {
    const others = clusterRoles.filter((role) => role !== 'janitor')
    const off = others.map((role) => `--set roles.${role}.enabled=false`)
    const objects = await render(`--set separateRoles=true ${off.join(' ')}`)
    for (const kind of ['Deployment', 'ServiceAccount', 'NetworkPolicy', 'PodDisruptionBudget', 'Service'])
      expect([kind, names(objects, kind)]).toEqual([kind, ['sojourn-janitor']])
  })

  it('reads Secrets only in the configured namespaces', async () => {
    const objects = await render("--set 'credentials.namespaces={shop,blog}'")
    expect(names(objects, 'ClusterRoleBinding')).not.toContain('sojourn-promoter-credentials')
    const bindings = objects.filter(({ metadata }) => metadata.name === 'sojourn-promoter-credentials')
    expect(bindings.flatMap(({ metadata }) => metadata.namespace ?? [])).toEqual(['shop', 'blog'])
  })

  it('limits an activator of one namespace to that namespace, and reads Secrets only for TLS', async () => {
    const rulesOf = (objects: readonly KubeObject[], kind: string) =>
      JSON.stringify(
        objects.filter((each) => each.kind === kind && each.metadata.name?.startsWith('sojourn-activator')),
      )
    const scoped = await render('--set proxy.namespace=shop')
    expect(rulesOf(scoped, 'ClusterRole')).not.toContain('services')
    expect(rulesOf(scoped, 'Role')).toContain('deployments/scale')
    expect(JSON.stringify(scoped)).toContain('{"name":"NAMESPACE","value":"shop"}')
    const wide = await render('--set proxy.companions=false --set proxy.takeover.enabled=false')
    expect(rulesOf(wide, 'ClusterRole')).not.toMatch(/secrets|delete/)
    expect(JSON.stringify(wide)).toContain('--no-takeover')
    const tls = await render('--set proxy.tls.enabled=true')
    expect(rulesOf(tls, 'ClusterRole')).toContain('secrets')
    expect(JSON.stringify(tls)).toContain('--proxy-tls-port=7444')
  })

  it('opens the takeover ports and the check port only to the configured callers', async () => {
    const objects = await render('--set proxy.check.enabled=true --set proxy.takeover.toPort=20099')
    const text = JSON.stringify(objects)
    expect(text).toContain('--takeover-ports=20000-20099')
    expect(text).toContain('--check-port=7082')
    const policy = objects.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'sojourn-proxy')
    expect(JSON.stringify(policy)).toContain('{"port":20000,"endPort":20099},{"port":"check"}')
    const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'sojourn-proxy')
    expect(JSON.stringify(service)).toContain('"targetPort":"check"')
    expect(JSON.stringify(objects.filter(({ kind }) => kind === 'ClusterRole'))).toContain('"endpoints"')
  })

  it('is a dry run by default', async () => {
    const args = (objects: readonly KubeObject[]) =>
      objects.filter(({ kind }) => kind === 'Deployment').map((object) => JSON.stringify(object['spec']))
    for (const spec of args(await render())) expect(spec).toContain('--dry-run')
    for (const spec of args(await render('--set dryRun=false'))) expect(spec).not.toContain('--dry-run')
  })

  it('brings alerts and a dashboard that Prometheus and Grafana can read', async () => {
    const wanted = ['serviceMonitor', 'prometheusRule', 'grafanaDashboard'].map((name) => `--set ${name}.enabled=true`)
    const objects = await render(wanted.join(' '))
    const of = (kind: string) => objects.find((object) => object.kind === kind)
    const credentials = { name: 'sojourn-metrics-reader', key: 'token' }
    const endpoint = { port: 'https', path: '/metrics', authorization: { type: 'Bearer', credentials } }
    expect(of('ServiceMonitor')).toMatchObject({ spec: { endpoints: [endpoint] } })
    expect(objects).toContainEqual(
      expect.objectContaining({
        kind: 'Secret',
        type: 'kubernetes.io/service-account-token',
        metadata: expect.objectContaining({ name: credentials.name }),
      }),
    )
    expect(of('PrometheusRule')).toMatchObject({ spec: { groups: [{ name: 'sojourn' }] } })
    const data = of('ConfigMap')?.['data'] as Readonly<Record<string, string>> | undefined
    const { panels } = JSON.parse(data?.['sojourn.json'] ?? '{}') as { readonly panels: readonly unknown[] }
    expect(panels.length).toBeGreaterThan(20)
  })

  it.each([
    ['another namespace', 'template sojourn CHART -n default', 'install it there'],
    ['half a certificate', `template sojourn CHART ${here} --set webhook.tlsSecret=mine`, 'webhook.caBundle'],
    ['no issuer', `template sojourn CHART ${here} --set webhook.certManager.enabled=true`, 'issuerRef must name'],
    [
      'none for callers',
      `template sojourn CHART ${here} --set promoter.certManager.enabled=true`,
      'promoter.certManager',
    ],
    ['a range from nowhere', `template sojourn CHART ${here} --set proxy.takeover.toPort=1`, 'must not be above'],
    [
      'nothing to run',
      `template sojourn CHART ${here} ${clusterRoles.map((role) => `--set roles.${role}.enabled=false`).join(' ')}`,
      'no role is enabled',
    ],
  ])('refuses %s and says what to do', async (_, command, message) => {
    const { code, stderr } = await session.attempt(command.replace('CHART', chart))
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  it.each([
    ['roles.butler.enabled=true', "at '/roles': additional properties 'butler' not allowed"],
    ['roles.cleaner.replicas=many', "at '/roles/cleaner/replicas': got string, want integer"],
    ['dryRun=perhaps', "at '/dryRun': got string, want boolean"],
    ['keepRecords=forever', "at '/keepRecords': 'forever' does not match pattern"],
    ['limits.maxDeparturesPercent=200', "at '/limits/maxDeparturesPercent': maximum: got 200, want 100"],
    ['webhook.failurePolicy=Maybe', "at '/webhook/failurePolicy': value must be one of 'Ignore', 'Fail'"],
    ['proxy.drian=3s', "at '/proxy': additional properties 'drian' not allowed"],
    ['image.digest=latest', "at '/image/digest': 'latest' does not match pattern"],
    ['env[0].value=x', "at '/env/0': missing property 'name'"],
    ['topologySpreadConstraints[0].maxSkew=1', "at '/topologySpreadConstraints/0': missing properties"],
    ['credentials.namespaces={Team}', "at '/credentials/namespaces/0': 'Team' does not match pattern"],
  ])('refuses %s and names the field', async (value, message) => {
    const { code, stderr } = await session.attempt(`template sojourn ${chart} ${here} --set '${value}'`)
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)])
  })

  it('has the same version as the program', () => {
    const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>
    const program = JSON.parse(readFileSync(join(chart, '../../package.json'), 'utf8')) as { readonly version: string }
    expect([version, appVersion]).toEqual([program.version, program.version])
  })

  it('has a default for every value in its schema, and passes lint', async () => {
    expect(await session.run(`lint ${chart} ${here} --strict`)).toContain('0 chart(s) failed')
    const read = (file: string) => readFileSync(join(chart, file), 'utf8')
    const defaults = parse(read('values.yaml')) as Values
    expect(Object.keys(defaults).toSorted()).toEqual(
      Object.keys((JSON.parse(read('values.schema.json')) as { properties: object }).properties)
        .filter((name) => name !== 'global')
        .toSorted(),
    )
  })

  it.each(readdirSync(join(chart, 'ci')))(
    'passes lint, schema and rendering with the values of ci/%s',
    async (file) => {
      const values = `-f ${join(chart, 'ci', file)}`
      expect(await session.run(`lint ${chart} ${here} --strict ${values}`)).toContain('0 chart(s) failed')
      const objects = await render(values)
      const keys = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`)
      expect(keys.length).toBeGreaterThan(20)
      expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([])
    },
  )

  it('explains every value in its README', () => {
    const read = (file: string) => readFileSync(join(chart, file), 'utf8')
    const rows = valueRows(read('values.yaml'))
    const told = new Set(rows.map(({ path }) => path.split('.')[0] ?? ''))
    expect([...told].toSorted()).toEqual(Object.keys(parse(read('values.yaml')) as Values).toSorted())
    for (const { path } of rows) expect(read('README.md')).toContain(`| \`${path}\` |`)
  })

  it('monitors pods rather than Services if wanted, with the same account', async () => {
    const objects = await render('--set podMonitor.enabled=true')
    const monitor = objects.find(({ kind }) => kind === 'PodMonitor')
    const credentials = { name: 'sojourn-metrics-reader', key: 'token' }
    expect(monitor).toMatchObject({
      spec: { podMetricsEndpoints: [{ port: 'https', path: '/metrics', authorization: { credentials } }] },
    })
    expect(names(objects, 'ServiceMonitor')).toEqual([])
    expect(names(objects, 'Secret')).toContain('sojourn-metrics-reader')
  })

  it('renders valid manifests with each switch turned', async () => {
    const switches = switchesOf(parse(readFileSync(join(chart, 'values.yaml'), 'utf8')) as Values)
    expect(switches.length).toBeGreaterThan(15)
    for (const [path, isOn] of switches) {
      const issuer = path.endsWith('certManager.enabled')
        ? `,${path.replace('enabled', 'issuerRef.name')}=internal`
        : ''
      expect((await render(`--set ${path}=${!isOn}${issuer}`)).length).toBeGreaterThan(20)
    }
  }, 120_000)

  it('grants the janitor fewer reads with detection disabled', async () => {
    const rulesOf = async (flags?: string) =>
      JSON.stringify(
        (await render(flags)).find((each) => each.kind === 'ClusterRole' && each.metadata.name === 'sojourn-janitor'),
      )
    expect(await rulesOf()).toContain('"pods"')
    expect(await rulesOf('--set janitor.detection=false')).not.toMatch(
      /"pods"|"clusterroles"|"bonds"\]|cleaner.vtex.dev/,
    )
  })

  it('installs, upgrades and uninstalls, and keeps the CRDs', async () => {
    await session.run(`install sojourn ${chart} ${here} --create-namespace --dry-run=client`)
    expect(await get('/api/v1/namespaces/sojourn-system')).toBeUndefined()
    // The embedded server validates Sojourn's kinds itself and serves no webhook configurations.
    const flags = `${here} --set webhook.enabled=false`
    expect(await session.run(`install sojourn ${chart} ${flags} --create-namespace`)).toContain('STATUS: deployed')
    await session.run(`upgrade sojourn ${chart} ${flags} --dry-run=server`)
    await session.run(`upgrade sojourn ${chart} ${flags} --set dryRun=false,roles.promoter.enabled=false`)
    const deployments = await get('/apis/apps/v1/namespaces/sojourn-system/deployments')
    const namesIn = (list: typeof deployments) => list?.items?.map(({ metadata }) => metadata.name)
    expect(namesIn(deployments)).toEqual(['sojourn', 'sojourn-proxy'])
    await session.run(`upgrade sojourn ${chart} ${flags} --set separateRoles=true,roles.promoter.enabled=false`)
    const roles = [...clusterRoles.filter((role) => role !== 'promoter'), 'proxy']
    expect(namesIn(await get('/apis/apps/v1/namespaces/sojourn-system/deployments'))).toEqual(
      roles.map((role) => `sojourn-${role}`).toSorted(),
    )
    await session.run(`uninstall sojourn --no-hooks ${here}`)
    expect((await get('/apis/apps/v1/namespaces/sojourn-system/deployments'))?.items).toEqual([])
    expect(await get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/departures.sojourn.dev')).toBeDefined()
  })
})

interface Values {
  readonly [name: string]: Values | boolean | string | number | readonly unknown[]
}

/** Every boolean among the values, by its path. */
function switchesOf(values: Values, path: readonly string[] = []): readonly (readonly [string, boolean])[] {
  return Object.entries(values).flatMap(([name, value]) => {
    if (typeof value === 'boolean') return [[[...path, name].join('.'), value] as const]
    return typeof value === 'object' && !Array.isArray(value) ? switchesOf(value as Values, [...path, name]) : []
  })
}
