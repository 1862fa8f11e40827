import { allKinds } from '../apis/all-kinds.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { KubeObject } from '../kube/object.ts'
import { checks } from './admission.ts'
import { validatePath } from './webhook.ts'

/** What the webhook's configuration is called, and the Secret with the certificate that it trusts. */
export const webhookName = 'sojourn'
export const certificateSecret = 'sojourn-webhook'

/** The Secret with the certificate of the promoter, and the authority that Flux and builds are given to trust. */
export const promoterSecret = 'sojourn-promoter'

/** The Service through which a cluster reaches the webhook. */
const webhookService = 'sojourn-cleaner'

/** Which requests a cluster has to ask about: objects of ours whose schema cannot say all, when they are new or their spec changes. */
export const webhookScope = {
  rules: [...Map.groupBy(checkedKinds(), ({ group, version }) => `${group}/${version}`).values()].map((kinds) => ({
    apiGroups: kinds.slice(0, 1).map(({ group }) => group),
    apiVersions: kinds.slice(0, 1).map(({ version }) => version),
    resources: kinds.map(({ plural }) => plural),
    operations: ['CREATE', 'UPDATE'],
    scope: '*',
  })),
  matchConditions: [
    { name: 'spec-changes', expression: 'request.operation != "UPDATE" || object.spec != oldObject.spec' },
  ],
}

/**
 * What tells a cluster to ask us before it stores objects of ours. While nobody answers they are stored all the same: the systems judge
 * what they find anyway. `caBundle` is filled in by the running program.
 */
export function webhookManifests(): readonly KubeObject[] {
  return [
    emptySecret(certificateSecret),
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: webhookName, labels },
      webhooks: [
        {
          name: 'validate.sojourn.dev',
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
          failurePolicy: 'Ignore',
          matchPolicy: 'Equivalent',
          timeoutSeconds: 5,
          namespaceSelector: {
            matchExpressions: [
              { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system', sojournNamespace] },
            ],
          },
          clientConfig: {
            service: { name: webhookService, namespace: sojournNamespace, path: validatePath, port: 443 },
          },
          ...webhookScope,
        },
      ],
    },
  ]
}

/** Where a certificate is kept; filled by the running program, and left as it is when it is applied again. */
export function emptySecret(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: sojournNamespace, labels }, type: 'Opaque' }
}

const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }

function checkedKinds() {
  return allKinds.filter(({ kind, group }) => `${kind}.${group}` in checks)
}
