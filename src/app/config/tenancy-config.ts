import { oneOf, parsed, readAll, setting, toggle, type Lookup } from './settings.ts'

/** What operators of a cluster with several tenants choose: see docs/guide/security.md. */
export const tenancySettings = {
  'default-service-account': setting(
    'NAME: ServiceAccount that acts for objects without spec.serviceAccountName, in their namespace (default: none)',
    (found) =>
      parsed(found, 'it must be the name of a ServiceAccount', (name) =>
        /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name) ? name : undefined,
      ),
  ),
  'require-service-account': toggle(
    'Hold objects without spec.serviceAccountName (default: act with the rights of their creator)',
    false,
  ),
  'without-creator': oneOf(
    'RULE: What becomes of objects whose creator is not recorded: Confine (to their namespace) or Hold (default: Confine; Hold with a default or required ServiceAccount)',
    ['Confine', 'Hold'],
  ),
  'no-cross-namespace-refs': toggle(
    'Objects may refer to their own namespace only (default: also to others, with the rights of their creator)',
    false,
  ),
  'require-webhook-token': toggle(
    'The validating webhook answers only callers with a token that may post to its path (default: API servers call it without one)',
    false,
  ),
}

export function readTenancyConfig(look: Lookup) {
  const values = readAll(tenancySettings, look)
  const usesAccounts = values.requireServiceAccount || values.defaultServiceAccount !== undefined
  return { ...values, withoutCreator: values.withoutCreator ?? (usesAccounts ? 'Hold' : 'Confine') }
}
