import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps values of Secrets from people who cannot read them. */
export const redactionGuards: readonly Guard[] = [
  ...inFile('src/departures/records/record.ts', [
    ['20: 21: 26: a deleted Secret leaves', 'if (!isSecret(object)) return manifest', 'if (object) return manifest'],
  ]),
  ...inFile('src/systems/cleaner/status.ts', [
    [
      '3: a target that is a Secret is known in the status',
      'valueOf(resolutions.get(target.name), publicView)',
      'valueOf(resolutions.get(target.name), (object) => object)',
    ],
  ]),
  ...inFile('src/systems/cleaner/decision/decide.ts', [
    [
      '14: a condition on the data of a Secret',
      'valueOf(resolutions.get(name), evaluatedView)',
      'valueOf(resolutions.get(name), (object) => object)',
    ],
    [
      '16: no condition can guess',
      'valueOf(resolutions.get(name), evaluatedView)',
      'valueOf(resolutions.get(name), (object) => object)',
    ],
  ]),
  ...inFile('src/systems/cleaner/decision/conditions.ts', [
    [
      '15: an error of a condition repeats no value',
      "result: 'error' })}${value.shown}`",
      "result: 'error' })}${value.message}`",
    ],
  ]),
  ...inFile('src/runtime/observability/known-secrets.ts', [
    ['27: keeps values of', "request.method === 'GET' ? request : withoutValues(request, values)", 'request'],
    ['27: keeps values of', 'isSecrets ? noting(response, values) : response', 'response'],
  ]),
]
