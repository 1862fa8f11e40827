import { createEnvironment } from './environment.ts'
import type { Environment } from './environment.ts'
import { standardLibrary } from './libraries/standard.ts'
import type { Type } from './types.ts'

const kubernetesLibraries = [standardLibrary]
const cleanerLibraries = [...kubernetesLibraries]

/** What expressions in Kubernetes' own API may use, as of version 1.34. */
export function kubernetesEnvironment(variables: Readonly<Record<string, Type>>): Environment {
  return createEnvironment({ libraries: kubernetesLibraries, variables })
}

/** Kubernetes' environment with what cleaner-controller adds: `sort_by`, `reverse_list`, `pair`, `sort`. */
export function cleanerEnvironment(variables: Readonly<Record<string, Type>>): Environment {
  return createEnvironment({ libraries: cleanerLibraries, variables })
}
