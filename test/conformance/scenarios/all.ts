import type { Scenario } from '../target.ts'
import { admissionPolicies, limits, podSecurity, references } from './admission.ts'
import { access } from './access.ts'
import { builtins, customResources, definitionFaults, ruleCosts } from './kinds.ts'
import { lifecycle, lists, patches } from './objects.ts'
import { malformedPatches, malformedQueries } from './malformed.ts'
import { customOwners, deleteManners, ownerReferences } from './owners.ts'
import { approvals, forms, serviceAddresses, warnings } from './forms.ts'
import { bodies, routing } from './routing.ts'
import { appliedThings, malformedRules } from './rules.ts'
import { evictions, scaling } from './subresources.ts'

/** Every question the two servers are asked. */
export const scenarios: readonly Scenario[] = [
  routing,
  bodies,
  lifecycle,
  lists,
  patches,
  builtins,
  definitionFaults,
  ruleCosts,
  customResources,
  access,
  malformedQueries,
  malformedPatches,
  evictions,
  scaling,
  malformedRules,
  appliedThings,
  ownerReferences,
  customOwners,
  deleteManners,
  admissionPolicies,
  limits,
  podSecurity,
  references,
  forms,
  serviceAddresses,
  warnings,
  approvals,
]
