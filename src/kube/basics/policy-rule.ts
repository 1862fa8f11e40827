/** A rule of RBAC. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  /** Only these objects. */
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** Allows verbs on resources of one API group. */
export function allow(group: string, resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources, verbs }
}

/** The same for these objects only. */
export function onlyFor({ apiGroups, resources, verbs }: PolicyRule, resourceNames: readonly string[]): PolicyRule {
  return { apiGroups, resources, resourceNames, verbs }
}
