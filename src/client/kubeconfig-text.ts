import { limits } from '../parsing/limits.ts'
import { readYaml } from '../parsing/yaml-text.ts'

/** The documents of a kubeconfig that somebody else wrote; throws ParseRefusal. */
export function read(text: string): readonly unknown[] {
  return readYaml(text, limits.kubeconfig).documents
}
