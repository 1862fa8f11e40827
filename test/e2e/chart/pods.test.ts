import { afterAll, beforeAll, expect, it } from 'vitest'
import { installManifests } from '../../../src/app/install/install.ts'
import { clusterRoles } from '../../../src/app/install/rbac.ts'
import type { KubeObject } from '../../../src/kube/object.ts'
import { describeWith, Session } from '../kubectl/session.ts'
import { names, podsOf, render as renderWith } from './rendered.ts'

await describeWith(['helm'], 'the pods of the chart', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start('helm')
  })
  afterAll(() => session?.[Symbol.asyncDispose]())
  const render = (flags = '') => renderWith(session, `--set separateRoles=true ${flags}`)
  const deployments = [...clusterRoles, 'proxy'].map((role) => `sojourn-${role}`).toSorted()

  it('run as non-root with a read-only root file system, by chart and "sojourn install"', async () => {
    const options = { roles: clusterRoles, image: 'sojourn', replicas: 2, dryRun: false }
    const together = ['sojourn', 'sojourn-proxy']
    for (const [objects, wanted] of [
      [await render(), deployments],
      [await renderWith(session), together],
      [installManifests({ ...options, separateRoles: true }), deployments],
      [installManifests(options), together],
    ] as const) {
      const pods = podsOf(objects)
      expect([...pods.keys()].toSorted()).toEqual(wanted)
      for (const { spec } of pods.values())
        expect(spec).toMatchObject({
          // Kubernetes' variables for Services would be read as settings.
          enableServiceLinks: false,
          securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              livenessProbe: { httpGet: { path: '/healthz' }, timeoutSeconds: 5 },
              readinessProbe: { httpGet: { path: '/readyz' } },
              resources: { requests: expect.anything() as object, limits: expect.anything() as object },
            },
          ],
        })
    }
  })

  it('spread from pods of the same role, by the given constraints or by node', async () => {
    for (const [name, { spec }] of podsOf(await render())) {
      const [constraint] = spec['topologySpreadConstraints'] as readonly Readonly<Record<string, unknown>>[]
      const component = name.replace('sojourn-', '')
      expect(constraint).toMatchObject({
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { 'app.kubernetes.io/component': component } },
      })
    }
    const own = {
      maxSkew: 2,
      topologyKey: 'zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { a: 'b' } },
    }
    const given = podsOf(await render(`--set-json 'topologySpreadConstraints=[${JSON.stringify(own)}]'`))
    expect([...given.values()].map(({ spec }) => spec['topologySpreadConstraints'])).toEqual(
      deployments.map(() => [own]),
    )
  })

  it('get the settings for all roles and those of their own role', async () => {
    const values = {
      env: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
      volumes: [{ name: 'trust', configMap: { name: 'trust' } }],
      volumeMounts: [{ name: 'trust', mountPath: '/trust' }],
      podLabels: { team: 'platform' },
      imagePullSecrets: [{ name: 'registry' }],
      tolerations: [{ operator: 'Exists' }],
      nodeSelector: { pool: 'system' },
    }
    const flags = Object.entries(values).map(([name, value]) => `--set-json '${name}=${JSON.stringify(value)}'`)
    const ofJanitor = `--set-json 'roles.janitor.envFrom=[{"secretRef":{"name":"cloud"}}]' --set roles.janitor.serviceAccountAnnotations.role=cleanup`
    const digest = `sha256:${'a'.repeat(64)}`
    const more = '--set priorityClassName=high,promoter.tlsSecret=mine,serviceAccount.annotations.all=yes'
    const objects = await render(`${flags.join(' ')} ${ofJanitor} ${more} --set image.digest=${digest}`)
    for (const [name, { metadata, spec }] of podsOf(objects)) {
      const [container] = spec.containers
      expect(metadata.labels).toMatchObject({ team: 'platform', 'app.kubernetes.io/name': 'sojourn' })
      expect(container?.['image']).toBe(`sojourn@${digest}`)
      expect(container?.['env']).toContainEqual(values.env[0])
      expect(container?.['volumeMounts']).toContainEqual(values.volumeMounts[0])
      expect(container?.['envFrom']).toEqual(
        name === 'sojourn-janitor' ? [{ secretRef: { name: 'cloud' } }] : undefined,
      )
      const { volumes, imagePullSecrets, tolerations, nodeSelector } = spec
      expect({ imagePullSecrets, tolerations, nodeSelector }).toEqual({
        imagePullSecrets: values.imagePullSecrets,
        tolerations: values.tolerations,
        nodeSelector: values.nodeSelector,
      })
      expect(volumes).toContainEqual(values.volumes[0])
      expect(spec['priorityClassName']).toBe('high')
    }
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount')
    for (const { metadata } of accounts)
      expect(metadata.annotations).toEqual({
        all: 'yes',
        ...(metadata.name === 'sojourn-janitor' ? { role: 'cleanup' } : {}),
      })
  })

  it('are drained from a node one at a time, and unready ones at once', async () => {
    const budgets = (await render()).filter(({ kind }) => kind === 'PodDisruptionBudget')
    expect(budgets.map(({ metadata }) => metadata.name)).toEqual(deployments)
    for (const { spec } of budgets)
      expect(spec).toMatchObject({ minAvailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' })
    expect(names(await render('--set roles.janitor.replicas=1'), 'PodDisruptionBudget')).not.toContain(
      'sojourn-janitor',
    )
  })

  it('are scraped by Prometheus at the metrics port only', async () => {
    const objects = await render('--set serviceMonitor.enabled=true,proxy.tls.enabled=true,proxy.check.enabled=true')
    const of = (wanted: string) => objects.filter(({ kind }) => kind === wanted)
    const [monitor] = of('ServiceMonitor')
    const { selector, endpoints } = (monitor ?? expect.fail('there is no ServiceMonitor')).spec as {
      readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
      readonly endpoints: readonly { readonly port: string }[]
    }
    const scraped = of('Service').filter(
      ({ metadata, spec }) =>
        Object.entries(selector.matchLabels).every(([key, value]) => metadata.labels?.[key] === value) &&
        (spec as { ports: readonly { name: string }[] }).ports.some(({ name }) => name === endpoints[0]?.port),
    )
    expect(
      names(scraped, 'Service')
        .map((name) => name.replace('-metrics', ''))
        .toSorted(),
    ).toEqual(deployments)
  })

  it('of all roles in one Deployment are scraped once, and found by the names of the roles', async () => {
    const services = (await renderWith(session)).filter(({ kind }) => kind === 'Service')
    const portOf = ({ spec }: KubeObject) => (spec as { ports: readonly { name: string }[] }).ports[0]?.name
    expect(new Map(services.map((service) => [service.metadata.name, portOf(service)]))).toEqual(
      new Map([
        ['sojourn-proxy', 'http'],
        ['sojourn', 'https'],
        ['sojourn-cleaner', 'calls'],
        ['sojourn-janitor', 'calls'],
        ['sojourn-promoter', 'calls'],
        ['sojourn-proxy-metrics', 'https'],
      ]),
    )
  })

  it('of all roles in one Deployment have the settings of every role, but not the pods that take requests', async () => {
    const given =
      '--set roles.janitor.serviceAccountAnnotations.role=cleanup --set roles.janitor.env[0].name=A,roles.janitor.env[0].value=b'
    const objects = await renderWith(session, given)
    const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount')
    expect(accounts.map(({ metadata }) => metadata.annotations)).toEqual([{ role: 'cleanup' }, undefined])
    const envOf = (name: string) => JSON.stringify(podsOf(objects).get(name)?.spec.containers[0]?.['env'])
    expect([envOf('sojourn'), envOf('sojourn-proxy')].map((env) => env.includes('{"name":"A"'))).toEqual([true, false])
  })

  const certificate = (objects: readonly KubeObject[], role: string) => {
    const spec = podsOf(objects).get(`sojourn-${role}`)?.spec
    return { volumes: spec?.['volumes'], args: spec?.containers[0]?.args.filter((arg) => arg.startsWith('--tls-')) }
  }
  const servedWith = (secretName: string) => ({
    volumes: [{ name: 'tls', secret: { secretName, defaultMode: 0o440 } }],
    args: ['--tls-cert=/etc/sojourn/tls/tls.crt', '--tls-key=/etc/sojourn/tls/tls.key'],
  })
  const ofItsOwn = { volumes: undefined, args: [] }

  it.each([
    ['cleaner', 'webhook', 'sojourn-webhook-tls', ',webhook.caBundle=Q0E='],
    ['promoter', 'promoter', 'sojourn-promoter-tls', ''],
  ])(
    'of the %s are met under a certificate of its own, by cert-manager, or of yours',
    async (role, values, issued, more) => {
      const others = clusterRoles.filter((other) => other !== role)
      const kept = values === 'webhook' ? 'sojourn-webhook' : 'sojourn-promoter'
      const ways = [
        { flags: '', served: ofItsOwn, secret: true, asked: [] },
        { flags: `--set ${values}.tlsSecret=mine${more}`, served: servedWith('mine'), secret: false, asked: [] },
        {
          flags: `--set ${values}.certManager.enabled=true,${values}.certManager.issuerRef.name=internal`,
          served: servedWith(issued),
          secret: false,
          asked: [kept],
        },
      ]
      for (const { flags, served, secret, asked } of ways) {
        const objects = await render(flags)
        expect(certificate(objects, role)).toEqual(served)
        for (const other of others) expect(certificate(objects, other)).toEqual(ofItsOwn)
        expect(names(objects, 'Secret').includes(kept)).toBe(secret)
        const certificates = objects.filter(({ kind }) => kind === 'Certificate')
        expect(certificates.map(({ metadata }) => metadata.name)).toEqual(asked)
        for (const { spec } of certificates)
          expect(spec).toMatchObject({
            secretName: issued,
            dnsNames: expect.arrayContaining([`sojourn-${role}.sojourn-system.svc`]) as string[],
          })
      }
    },
  )

  it('of a promoter alone have a Service and a Secret for the certificate, by chart and "sojourn install"', async () => {
    const off = clusterRoles.filter((role) => role !== 'promoter').map((role) => `--set roles.${role}.enabled=false`)
    const options = { roles: ['promoter'] as const, image: 'sojourn', replicas: 1, dryRun: false, separateRoles: true }
    for (const objects of [await render(off.join(' ')), installManifests(options)]) {
      expect(names(objects, 'Service')).toEqual(['sojourn-promoter'])
      expect(names(objects, 'Secret')).toEqual(['sojourn-promoter'])
      const [own] = objects.filter(({ kind, metadata }) => kind === 'Role' && metadata.name === 'sojourn-promoter')
      expect(own?.['rules']).toContainEqual({
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['sojourn-promoter'],
        verbs: ['get', 'update'],
      })
    }
  })
})
