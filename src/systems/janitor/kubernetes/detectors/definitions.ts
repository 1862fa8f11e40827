import type { StoredObject } from '../../../../kube/object.ts'
import { kindAndName, unlessCustomUse, type Detector } from '../references/detector.ts'
import { unknownUse, used } from '../../model/resource.ts'
import { podSourceKinds, podSources } from '../references/pod-specs.ts'

/** Priority classes: in use while a pod or template names them, or pods get them by default. */
export const priorityClassDetector: Detector = {
  kinds: ['PriorityClass.scheduling.k8s.io'],
  needs: podSourceKinds,
  prepare(cluster) {
    const classes = new Map<string, string>()
    for (const { owner, spec } of podSources(cluster))
      if (spec.priorityClassName) classes.set(spec.priorityClassName, kindAndName(owner))
    return (object) => {
      const { name } = object.metadata
      if (name.startsWith('system-')) return used('the cluster itself')
      if (object['globalDefault'] === true) return used('pods that name no class')
      const by = classes.get(name)
      return by ? used(by) : unlessCustomUse(cluster.customUse(name), 'no pod or template names it')
    }
  },
}

/** Definitions: unused without objects, unless a controller with rights of its own may fail without the kind. */
export const definitionDetector: Detector = {
  kinds: ['CustomResourceDefinition.apiextensions.k8s.io'],
  looksInside: true,
  needs: ['roles', 'clusterroles'],
  prepare(cluster) {
    const granted = new Map<string, string>()
    for (const role of [...cluster.list('roles'), ...cluster.list('clusterroles')])
      for (const group of groupsGrantedBy(role)) granted.set(group, kindAndName(role))
    return ({ spec }) => {
      const { group, names } = spec as { group: string; names: { kind: string } }
      const use = cluster.customUseOf(`${group}/${names.kind}`)
      const role = granted.get(group)
      if (use.state !== 'unused' || role === undefined) return use
      return unknownUse(`${role} grants access to ${group}: a controller may need the kind`)
    }
  },
}

function groupsGrantedBy(role: StoredObject): readonly string[] {
  const { rules } = role as { rules?: readonly { readonly apiGroups?: readonly string[] }[] | null }
  return (rules ?? []).flatMap(({ apiGroups = [] }) => apiGroups)
}
