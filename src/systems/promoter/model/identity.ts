import { createHash } from 'node:crypto'
import type { StrategyRecord } from '../../../apis/pipeline-status.ts'

/** What makes a promotion the one it is. */
export interface PromotionIdentity {
  readonly pipelineUid: string
  readonly environment: string
  readonly revision: string
  readonly sequence: number
  readonly strategyHash: string
  /** How often a human asked to try again after an end. */
  readonly retry: number
}

/** Sixteen hex digits: the same promotion has the same id after any crash, another run another one. */
export function promotionId(identity: PromotionIdentity): string {
  const { pipelineUid, environment, revision, sequence, strategyHash, retry } = identity
  const parts = [pipelineUid, environment, revision, String(sequence), strategyHash, ...(retry ? [String(retry)] : [])]
  return sha256(JSON.stringify(parts)).slice(0, 16)
}

/** Changes when the destination does, and only then. */
export function strategyHash({ kind, type, url, apiURL, baseBranch }: StrategyRecord): string {
  return sha256(JSON.stringify([kind, type ?? '', url ?? '', apiURL ?? '', baseBranch ?? ''])).slice(0, 12)
}

/** How the branch of a promotion is named: one each, shared by all of an environment, or as pipeline-controller did. */
export type BranchNaming = 'own' | 'shared' | 'legacy'

/** A valid ref name whatever the revision holds: only Kubernetes names and a hash go in. */
export function branchName(
  place: { readonly namespace: string; readonly name: string; readonly environment: string; readonly id: string },
  naming: BranchNaming,
): string {
  const { namespace, name, environment, id } = place
  if (naming === 'legacy') return `promotion-${namespace}-${name}-${environment}`
  const shared = `promotion/${namespace}.${name}/${environment}`
  return naming === 'shared' ? shared : `${shared}-${id.slice(0, 8)}`
}

export function sha256(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex')
}
