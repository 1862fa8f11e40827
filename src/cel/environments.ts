import { createEnvironment, withVariables } from './environment.ts'
import type { Environment } from './environment.ts'
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
import type { Type } from './types.ts'

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
const cleaner = createEnvironment({ libraries: [...kubernetesLibraries, cleanerLibrary] })

/** What expressions in Kubernetes' own API may use, as of version 1.34. */
export function kubernetesEnvironment(variables: Readonly<Record<string, Type>>): Environment {
  return withVariables(kubernetes, variables)
}

/** Kubernetes' environment with what cleaner-controller adds: `sort_by`, `reverse_list`, `pair`, `sort`. */
export function cleanerEnvironment(variables: Readonly<Record<string, Type>>): Environment {
  return withVariables(cleaner, variables)
}
