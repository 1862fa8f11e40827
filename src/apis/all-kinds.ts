import { approval } from './approval.ts'
import { bond } from './bond.ts'
import { cleaner, ownCleaner } from './cleaner.ts'
import { cleanupCandidate } from './cleanup-candidate.ts'
import { cleanupOptOut } from './cleanup-opt-out.ts'
import { cleanupPolicy } from './cleanup-policy.ts'
import { conditionalTtl } from './conditional-ttl.ts'
import type { Kind } from './define-kind.ts'
import { departurePage } from './departure-page.ts'
import { departure } from './departure.ts'
import { environmentClass } from './environment-class.ts'
import { environment } from './environment.ts'
import { gitopsCluster } from './gitops-cluster.ts'
import { notificationChannel } from './notification-channel.ts'
import { pipeline } from './pipeline.ts'
import { providerAccount } from './provider-account.ts'
import { savingsReport } from './savings-report.ts'
import { usageLedger } from './usage-ledger.ts'
import { workSchedule } from './work-schedule.ts'

/** Every kind of ours: what `sojourn up` registers, `sojourn install` prints and the docs describe. */
export const allKinds: readonly Kind[] = [
  approval,
  bond,
  cleaner,
  cleanupCandidate,
  cleanupOptOut,
  cleanupPolicy,
  conditionalTtl,
  departure,
  departurePage,
  environment,
  environmentClass,
  gitopsCluster,
  notificationChannel,
  ownCleaner,
  pipeline,
  providerAccount,
  savingsReport,
  usageLedger,
  workSchedule,
]
