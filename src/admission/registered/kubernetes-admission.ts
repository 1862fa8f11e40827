import type { AdmissionHook } from '../../apiserver/objects/contract/admission.ts'
import type { Store } from '../../apiserver/store/store.ts'
import type { KubeObject } from '../../kube/object.ts'
import { shippedPolicies } from '../policies/policy.ts'
import { Followed } from './followed.ts'
import { mutatingPolicies, runMutators } from './mutations.ts'
import { group, validateByPolicies } from './policies.ts'
import { hasWebhooks, mutatingWebhooks, validateByWebhooks, type WebhookPorts } from './webhooks.ts'

/** What the embedded server has from the start; clusters get it from `sojourn install`. */
const builtIn = ['approvals', 'service-policies', 'record-policies'] as const

const policies = ['ValidatingAdmissionPolicy', 'MutatingAdmissionPolicy'].flatMap((kind) => [kind, `${kind}Binding`])
const webhooks = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']

/** The admission that a cluster has: what users register, in kube-apiserver's order, and Sojourn's own policies. */
export class KubernetesAdmission {
  readonly #store: Store
  #ports: WebhookPorts | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Admits everything until `start`: what a server writes while it starts cannot wait for webhooks that run on it. */
  readonly hook: AdmissionHook = {
    isAsking: () => this.#ports !== undefined && hasWebhooks(this.#ports.followed),
    mutate: (review) => {
      const ports = this.#ports
      if (!ports) return review.object
      return runMutators(review.object, [...mutatingPolicies(ports, review), ...mutatingWebhooks(ports, review)])
    },
    validate: (review) => {
      const ports = this.#ports
      return ports && [...validateByPolicies(ports, review), ...validateByWebhooks(ports, review)]
    },
  }

  start(ports: Omit<WebhookPorts, 'followed' | 'store'>): void {
    const own = builtIn.flatMap(shippedPolicies)
    const resources = [...policies, ...webhooks].map((kind): [string, readonly KubeObject[]] => [
      `${kind.toLowerCase().replace(/y$/, 'ie')}s.${group}`,
      own.filter((object) => object.kind === kind),
    ])
    this.#ports = { ...ports, store: this.#store, followed: new Followed(this.#store, new Map(resources)) }
  }
}
