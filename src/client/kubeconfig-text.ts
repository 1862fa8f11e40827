import { limits } from '../parsing/limits.ts'
import { readYaml } from '../parsing/yaml-text.ts'

/** The documents of a kubeconfig that a tenant may have written; throws ParseRefusal. */
export function read(text: string): readonly unknown[] {
  return readYaml(text, limits.kubeconfig).documents
}
