import { createHash } from 'node:crypto'
import type { StrategyRecord } from '../../../apis/pipeline-status.ts'

/** The inputs of a promotion's id. */
export interface PromotionIdentity {
  readonly pipelineUid: string
  readonly environment: string
  readonly revision: string
  readonly sequence: number
  readonly strategyHash: string
  /** How often a user requested a retry after a rejection. */
  readonly retry: number
}

/** Sixteen hex digits. Deterministic, so that a restarted process finds the branch and pull request it created. */
export function promotionId(identity: PromotionIdentity): string {
  const { pipelineUid, environment, revision, sequence, strategyHash, retry } = identity
  const parts = [pipelineUid, environment, revision, String(sequence), strategyHash, ...(retry ? [String(retry)] : [])]
  return sha256(JSON.stringify(parts)).slice(0, 16)
}

/** Changes exactly when the destination of a promotion changes. */
export function strategyHash({ kind, type, url, apiURL, baseBranch }: StrategyRecord): string {
  return sha256(JSON.stringify([kind, type ?? '', url ?? '', apiURL ?? '', baseBranch ?? ''])).slice(0, 12)
}

/** Branch per promotion, per environment, or per environment with pipeline-controller's name. */
export type BranchNaming = 'own' | 'shared' | 'legacy'

/** Always a valid ref name: made of Kubernetes names and a hash, never of the revision. */
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
