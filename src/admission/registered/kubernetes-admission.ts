import { mutate, validate, type AdmissionHook } from '../../apiserver/objects/contract/admission.ts'
import type { Store } from '../../apiserver/store/store.ts'
import type { KubeObject } from '../../kube/object.ts'
import { shippedPolicies } from '../policies/policy.ts'
import { classKinds, defaultClassAdmission } from './default-classes.ts'
import { Followed } from './followed.ts'
import { limitRangeAdmission } from './limit-ranges.ts'
import { mutatingPolicies, runMutators } from './mutations.ts'
import { podReferences } from './pod-references.ts'
import { podWarnings } from './pod-warnings.ts'
import { followPolicyTypes } from './type-check.ts'
import { group, validateByPolicies } from './policies.ts'
import { Quotas, type Background } from './quotas.ts'
import { hasWebhooks, mutatingWebhooks, validateByWebhooks, type WebhookPorts } from './webhooks.ts'

/** What the embedded server has from the start; clusters get it from `sojourn install`. */
const builtIn = ['approvals', 'service-policies', 'record-policies'] as const

/** What Pods get, refer to and are warned of, on every server. */
export const podAdmission: readonly AdmissionHook[] = [podReferences, podWarnings]

const policies = ['ValidatingAdmissionPolicy', 'MutatingAdmissionPolicy'].flatMap((kind) => [kind, `${kind}Binding`])
const webhooks = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']

/** The admission that a cluster has: what users register, in kube-apiserver's order, and Sojourn's own policies. */
export class KubernetesAdmission {
  readonly #store: Store
  #ports: WebhookPorts | undefined
  #limits: readonly AdmissionHook[] = []

  constructor(store: Store) {
    this.#store = store
  }

  /** Admits everything until `start`: what a server writes while it starts cannot wait for webhooks that run on it. */
  readonly hook: AdmissionHook = {
    isAsking: () => this.#ports !== undefined && hasWebhooks(this.#ports.followed),
    mutate: (review) => {
      const ports = this.#ports
      if (!ports) return review.object
      const object = mutate(this.#limits, review)
      return runMutators(object, [
        ...mutatingPolicies(ports, { ...review, object }),
        ...mutatingWebhooks(ports, { ...review, object }),
      ])
    },
    validate: (review) => {
      const ports = this.#ports
      const found = ports && [...validateByPolicies(ports, review), ...validateByWebhooks(ports, review)]
      validate(this.#limits, review)
      return found
    },
  }

  start(ports: Omit<WebhookPorts, 'followed' | 'store'> & Background): void {
    const security = shippedPolicies('pod-security')
    const own = [...builtIn.flatMap(shippedPolicies), ...security, ...security.map(warning)]
    const resources = [...policies, ...webhooks].map((kind): [string, readonly KubeObject[]] => [
      `${kind.toLowerCase().replace(/y$/, 'ie')}s.${group}`,
      own.filter((object) => object.kind === kind),
    ])
    const others = ['limitranges', 'resourcequotas', ...classKinds].map((each): [string, KubeObject[]] => [each, []])
    const followed = new Followed(this.#store, new Map([...resources, ...others]))
    this.#ports = { ...ports, store: this.#store, followed }
    followPolicyTypes(this.#store, ports)
    const defaults = defaultClassAdmission(followed)
    this.#limits = [defaults, limitRangeAdmission(followed), new Quotas(this.#store, followed, ports).hook]
  }
}

/** The policy for the labels `warn` from the one for the labels `enforce`. */
function warning(policy: KubeObject): KubeObject {
  const text = JSON.stringify(policy).replaceAll('enforce', 'warn').replaceAll('Deny', 'Warn')
  return JSON.parse(text.replaceAll('violates', 'would violate')) as KubeObject
}
