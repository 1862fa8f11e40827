import type { Case } from './case.ts'

const labels = { access: 'environments' }
const home = 'access-environments'

/** One environment that is told of by Event, and deleted at once. */
export const environmentsCase: Case = {
  targets: [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch', 'patch', 'delete'] }],
  stages: [
    {
      async given(world) {
        await world.create({
          apiVersion: 'sojourn.dev/v1alpha1',
          kind: 'EnvironmentClass',
          metadata: { name: 'access' },
          spec: {
            namespaceSelector: { matchLabels: labels },
            delete: { after: '1s', since: 'Created', warnBefore: '1s' },
          },
        })
        await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: home, labels } })
      },
    },
  ],
}
