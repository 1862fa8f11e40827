import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  startReferenceCluster,
  type ReferenceCluster,
  type ReferenceClusterOptions,
} from '../../scripts/reference-cluster/reference-cluster.ts'
import type { Request } from './rights.ts'

/** A real kube-apiserver that notes what our accounts ask of it, and what it answers. */
export interface AuditedCluster extends ReferenceCluster {
  /** What an account of ours has asked for so far. */
  readonly asked: (account: string) => readonly Request[]
  /** The user agents that an account of ours has named so far. */
  readonly agents: (account: string) => readonly string[]
}

/** Only our accounts, and no more than who asked for what: nobody's data. */
const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata', userGroups: ['system:serviceaccounts:sojourn-system'] }, { level: 'None' }],
}

interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly userAgent?: string
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly annotations?: { readonly 'authorization.k8s.io/decision'?: string }
}

export async function startAuditedCluster(
  options: Pick<ReferenceClusterOptions, 'controllerManager'> = {},
): Promise<AuditedCluster> {
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-audit-'))
  const files = { policy: join(directory, 'policy.json'), log: join(directory, 'audit.log') }
  writeFileSync(files.policy, JSON.stringify(policy))
  const flags = [`--audit-policy-file=${files.policy}`, `--audit-log-path=${files.log}`]
  const cluster = await startReferenceCluster({ ...options, durable: false, apiServer: { flags } })
  const stop = async () => {
    await cluster.stop()
    rmSync(directory, { recursive: true, force: true })
  }
  const eventsOf = (account: string) =>
    readFileSync(files.log, 'utf8')
      .split('\n')
      // The last line may still be on its way.
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ user }) => user.username === `system:serviceaccount:sojourn-system:${account}`)
  const asked = (account: string) => eventsOf(account).flatMap(requestOf)
  const agents = (account: string) => [...new Set(eventsOf(account).map(({ userAgent = '' }) => userAgent))]
  return { ...cluster, asked, agents, stop, [Symbol.asyncDispose]: stop }
}

/** Paths that are no resources are not for our roles to grant. */
function requestOf({ verb, objectRef, annotations }: AuditEvent): readonly Request[] {
  if (!objectRef) return []
  const { apiGroup = '', resource, subresource, namespace } = objectRef
  return [
    {
      what: `${apiGroup}/${resource}${subresource ? `/${subresource}` : ''} ${verb}`,
      namespace,
      isAllowed: annotations?.['authorization.k8s.io/decision'] !== 'forbid',
    },
  ]
}
