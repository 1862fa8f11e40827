import { inFile, type Guard } from '../../scripts/guards/guard.ts'
import { admissionGuards } from './admission-guards.ts'
import { dashboardGuards } from './dashboard-guards.ts'
import { cleanerGuards } from './cleaner-guards.ts'
import { environmentGuards } from './environment-guards.ts'
import { redactionGuards } from './redaction-guards.ts'
import { networkGuards } from './network-guards.ts'
import { parsingGuards } from './parsing-guards.ts'
import { promoterGuards } from './promoter-guards.ts'
import { routeGuards } from './route-guards.ts'

/** Where the attacks of tenants are, and the tests of what stops them. */
export const testFolders = [
  'test/tenants',
  'src/tenancy',
  'src/admission',
  'src/kube',
  'src/cel',
  'src/runtime/observability',
  'src/runtime/cache',
  'src/parsing',
  'src/departures/records',
  'src/helm',
  'src/git',
  'src/forges',
  'test/promoter',
  'src/systems/promoter/decision',
  'src/systems/promoter/repository',
  'src/systems/promoter/strategies',
  'src/systems/promoter/targets',
  'src/client',
  'src/apiserver/schema/wire',
  'src/apiserver/http/response',
  'src/runtime/http',
  'src/systems/activator/model',
  'src/systems/activator/proxy/planes',
  'src/systems/janitor',
  'src/systems/environments',
  'src/systems/cleaner',
  'src/systems/savings',
  'src/app/dashboard',
  'src/app/core',
]

/** The numbers of attacks are words of test names here: each guard names the test that misses it. */
export const cases: readonly string[] = []

export const guards: readonly Guard[] = [
  ...admissionGuards,
  ...cleanerGuards,
  ...dashboardGuards,
  ...redactionGuards,
  ...parsingGuards,
  ...networkGuards,
  ...inFile('src/tenancy/act-as.ts', [
    [
      'does not begin what Sojourn itself may not do, and asks before every write',
      '?? this.#refusalOfSelf(access))',
      '?? undefined)',
    ],
  ]),
  ...inFile('src/runtime/cache/shared-cache.ts', [
    [
      'is current in granted namespaces only: absence elsewhere proves nothing',
      'this.#limit?.namespaces.includes(namespace) ? undefined : this.#limit?.error',
      'undefined',
    ],
  ]),
  ...promoterGuards,
  ...routeGuards,
  ...environmentGuards,
]
