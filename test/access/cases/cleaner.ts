import type { KubeObject } from '../../../src/kube/object.ts'
import { configMap, namespace, refusalOf, signedChannel, type Case } from './case.ts'

const home = 'access-cleaner'

/** Lets a ConfigMap go after a second. */
function cleaner(apiVersion: string, kind: string, name: string, more: object = {}): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: home },
    spec: {
      ttl: '1s',
      ...more,
      targets: [
        {
          name: 'old',
          delete: true,
          includeWhenEvaluating: true,
          reference: { apiVersion: 'v1', kind: 'ConfigMap', name },
        },
      ],
    },
  }
}

const first = cleaner('cleaner.vtex.dev/v1alpha', 'Cleaner', 'first')
const second = cleaner('cleaner.vtex.io/v1alpha1', 'ConditionalTTL', 'second')
const stubborn = cleaner('cleaner.vtex.dev/v1alpha', 'Cleaner', 'stubborn')
/** It is announced by a signed webhook with a link, and its CloudEvent is given up after two attempts. */
const announced = cleaner('sojourn.dev/v1alpha1', 'Cleaner', 'announced', {
  warn: { before: '1s', channels: ['access-cleaner'] },
  cloudEventSink: 'http://127.0.0.1:1/',
  cloudEventTimeout: '15s',
})
const third = cleaner('cleaner.vtex.dev/v1alpha', 'Cleaner', 'third')

export const cleanerCase: Case = {
  targets: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'delete'] }],
  stages: [
    {
      flags: {
        'keep-records': '5s',
        'public-url': 'https://sojourn.example.org',
        'allow-outgoing': '127.0.0.1/32',
      },
      async given(world) {
        await world.create(namespace(home), ...(await signedChannel(world, 'access-cleaner')))
        await world.create(configMap(home, 'announced'), announced)
        const [target] = await world.create(configMap(home, 'first'), configMap(home, 'second'))
        await world.abandon(target!, { system: 'cleaner' })
        await world.create(...refusalOf('stubborn'), configMap(home, 'stubborn'), first, second, stubborn)
      },
      until: [
        /departures update/,
        /departures delete/,
        /events patch/,
        /cleaners delete/,
        /conditionalttls delete/,
        /configmaps delete/,
      ],
    },
    {
      // The second of the two departures is one too many: the breaker opens.
      flags: { 'max-departures-per-minute': '1' },
      async given(world) {
        await world.create(configMap(home, 'third'), third)
      },
    },
  ],
}
