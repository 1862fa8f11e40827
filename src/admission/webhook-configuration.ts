import { allKinds } from '../apis/all-kinds.ts'
import { sojournNamespace } from '../apis/group.ts'
import type { KubeObject } from '../kube/object.ts'
import { checks } from './admission.ts'
import { validatePath } from './webhook.ts'

/** The name of the webhook configuration, and of the Secret with the certificate that it trusts. */
export const webhookName = 'sojourn'
export const certificateSecret = 'sojourn-webhook'

/** The Secret with the promoter's certificate, and the authority that Flux and CI have to trust. */
export const promoterSecret = 'sojourn-promoter'
/** Holds the dashboard's certificate; the key of its sessions is derived from the authority's. */
export const dashboardSecret = 'sojourn-dashboard'

/** The Service through which the API server reaches the webhook. */
const webhookService = 'sojourn-cleaner'

/** The requests that the API server sends to the webhook: creates and spec changes of the kinds in `checks`. */
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

/** What concerns environments: new Namespaces and new labels, for the limits of classes, and connections to Pods, which can be use. */
export const environmentScope = {
  rules: [
    { resources: ['namespaces'], operations: ['CREATE', 'UPDATE'] },
    { resources: ['pods/exec', 'pods/attach', 'pods/portforward'], operations: ['CONNECT'] },
  ].map((rule) => ({ apiGroups: [''], apiVersions: ['v1'], ...rule, scope: '*' })),
  matchConditions: [
    {
      name: 'labels-change',
      expression: 'request.operation != "UPDATE" || object.metadata.labels != oldObject.metadata.labels',
    },
  ],
}

/**
 * The webhook configuration and its Secret. The webhook fails open: while it is unreachable, invalid objects are stored, and the
 * controllers report them in conditions. The running webhook fills in `caBundle`.
 */
export function webhookManifests({ environments }: { readonly environments: boolean }): readonly KubeObject[] {
  const common = {
    admissionReviewVersions: ['v1'],
    failurePolicy: 'Ignore',
    matchPolicy: 'Equivalent',
    namespaceSelector: {
      matchExpressions: [
        { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['kube-system', sojournNamespace] },
      ],
    },
    clientConfig: { service: { name: webhookService, namespace: sojournNamespace, path: validatePath, port: 443 } },
  }
  return [
    emptySecret(certificateSecret),
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: webhookName, labels },
      webhooks: [
        { name: 'validate.sojourn.dev', ...common, sideEffects: 'None', timeoutSeconds: 5, ...webhookScope },
        // No connection to a Pod waits longer than this for a webhook that does not answer.
        ...(environments
          ? [
              {
                name: 'environments.sojourn.dev',
                ...common,
                sideEffects: 'NoneOnDryRun',
                timeoutSeconds: 2,
                ...environmentScope,
              },
            ]
          : []),
      ],
    },
  ]
}

/** A Secret for a certificate. It has no data, so that applying it again keeps the certificate that the running process wrote. */
export function emptySecret(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: sojournNamespace, labels }, type: 'Opaque' }
}

const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }

function checkedKinds() {
  return allKinds.filter(({ kind, group }) => `${kind}.${group}` in checks)
}
