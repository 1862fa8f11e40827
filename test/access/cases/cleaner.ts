import type { KubeObject } from '../../../src/kube/object.ts'
import { configMap, namespace, type Case } from './case.ts'

const home = 'access-cleaner'

/** Lets a ConfigMap go after a second. */
function cleaner(apiVersion: string, kind: string, name: string): KubeObject {
  return {
    apiVersion,
    kind,
    metadata: { name, namespace: home },
    spec: {
      ttl: '1s',
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
const third = cleaner('cleaner.vtex.dev/v1alpha', 'Cleaner', 'third')

/** The cluster refuses one deletion: it is tried again and again, and each time the same Event happens. */
const refusal: readonly KubeObject[] = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'access-cleaner' },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['DELETE'], resources: ['configmaps'] }],
      },
      validations: [{ expression: "oldObject.metadata.name != 'stubborn'" }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'access-cleaner' },
    spec: { policyName: 'access-cleaner', validationActions: ['Deny'] },
  },
]

export const cleanerCase: Case = {
  targets: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch', 'delete'] }],
  stages: [
    {
      flags: { 'keep-records': '5s' },
      async given(world) {
        await world.create(namespace(home))
        const [target] = await world.create(configMap(home, 'first'), configMap(home, 'second'))
        await world.abandon(target!, { system: 'cleaner' })
        await world.create(...refusal, configMap(home, 'stubborn'), first, second, stubborn)
      },
      until: [/departures update/, /departures delete/, /events patch/, /cleaners delete/, /conditionalttls delete/],
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
