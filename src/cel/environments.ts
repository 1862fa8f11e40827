import { createEnvironment, withVariables, type Environment } from './environment.ts'
import { authorizerLibrary, authorizerTypes, mutationLibrary } from './authorizer.ts'
import { cleanerLibrary } from './libraries/cleaner.ts'
import { kubernetesListsLibrary, listsLibrary, setsLibrary } from './libraries/collections.ts'
import { bindingsLibrary, comprehensionsLibrary, encodersLibrary } from './libraries/encoders.ts'
import { formatLibrary } from './libraries/formats.ts'
import { kubernetesRegexLibrary } from './libraries/kubernetes-regex.ts'
import { mathLibrary } from './libraries/math.ts'
import { networkLibrary } from './libraries/network.ts'
import { optionalsLibrary } from './libraries/optionals.ts'
import { quantityLibrary } from './libraries/quantity.ts'
import { semverLibrary } from './libraries/semver.ts'
import { standardLibrary } from './libraries/standard.ts'
import { stringsLibrary } from './libraries/strings.ts'
import { urlLibrary } from './libraries/url.ts'
import { boolType, dynType, listType, mapType, objectType, stringType, type Type } from './types.ts'

/** The language and cel-go's extensions of it. */
export const extensionLibraries = [
  standardLibrary,
  optionalsLibrary,
  stringsLibrary,
  bindingsLibrary,
  comprehensionsLibrary,
  mathLibrary,
  encodersLibrary,
  setsLibrary,
  listsLibrary,
]
const kubernetesLibraries = [
  ...extensionLibraries,
  kubernetesListsLibrary,
  kubernetesRegexLibrary,
  urlLibrary,
  networkLibrary,
  quantityLibrary,
  semverLibrary,
  formatLibrary,
]
// Made once: environments for other variables share everything else.
const kubernetes = createEnvironment({ libraries: kubernetesLibraries })
const admission = createEnvironment({ libraries: [...kubernetesLibraries, authorizerLibrary] })
const mutation = createEnvironment({ libraries: [...kubernetesLibraries, authorizerLibrary, mutationLibrary] })
const cleaner = createEnvironment({ libraries: [...kubernetesLibraries, cleanerLibrary] })

/** What expressions in Kubernetes' own API may use, as of version 1.34. */
export function kubernetesEnvironment(variables: Readonly<Record<string, Type>>): Environment {
  return withVariables(kubernetes, variables)
}

/** Kubernetes' environment with what cleaner-controller adds: `sort_by`, `reverse_list`, `pair`, `sort`. */
export function cleanerEnvironment(variables: Readonly<Record<string, Type>>): Environment {
  return withVariables(cleaner, variables)
}

function texts(name: string, ...fields: readonly string[]): Type {
  return objectType(name, Object.fromEntries(fields.map((field) => [field, stringType])))
}

const resourceType = texts('kubernetes.GroupVersionResource', 'group', 'version', 'resource')
const kindType = texts('kubernetes.GroupVersionKind', 'group', 'version', 'kind')
const requestType = objectType('kubernetes.AdmissionRequest', {
  kind: kindType,
  requestKind: kindType,
  resource: resourceType,
  requestResource: resourceType,
  ...Object.fromEntries(
    ['subResource', 'requestSubResource', 'name', 'namespace', 'operation'].map((field) => [field, stringType]),
  ),
  userInfo: objectType('kubernetes.UserInfo', {
    username: stringType,
    uid: stringType,
    groups: listType(stringType),
    extra: mapType(stringType, listType(stringType)),
  }),
  dryRun: boolType,
  options: dynType,
})

/** What expressions of admission policies and webhooks may use; `more` adds or types variables. */
export function admissionEnvironment(more: Readonly<Record<string, Type>>, isMutating: boolean): Environment {
  const objects = { object: dynType, oldObject: dynType, namespaceObject: dynType }
  return withVariables(isMutating ? mutation : admission, {
    ...objects,
    request: requestType,
    ...authorizerTypes,
    ...more,
  })
}
