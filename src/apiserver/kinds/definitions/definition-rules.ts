import type { KubeObject } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { hasTrueCondition, type Definition } from './definition.ts'
import { establish, withTerminatingCondition, withCleanupFinalizer, type TakenNames } from './establish-definition.ts'
import type { KindRules } from '../rules/kind-rules.ts'
import { validateDefinition } from './validate-definition.ts'

/**
 * Establishes a CRD in the write that creates it, so that its kind is served once the create is answered.
 * kube-apiserver does this later, in a controller.
 */
export function definitionRules({ taken, now }: { taken: TakenNames; now: () => string }): Partial<KindRules> {
  const established = (object: KubeObject) => {
    if (!canBeEstablished(object)) return object
    const definition = object as unknown as Definition
    return establish(definition, { now: now(), taken }) as unknown as KubeObject
  }
  return {
    prepareCreate: established,
    prepareUpdate(object, old) {
      const isSettled =
        deepEqual(object.spec, old.spec) && hasTrueCondition(old as unknown as Definition, 'NamesAccepted')
      return isSettled ? object : established(object)
    },
    prepareDelete: (object, at) => withCleanupFinalizer(withTerminatingCondition(object, at)),
    validate: (object, old) =>
      validateDefinition(object as unknown as Definition, old as unknown as Definition | undefined),
  }
}

/** Whether a CRD has the fields that establishing reads; validation refuses the others. */
function canBeEstablished(object: KubeObject): boolean {
  const { names, versions, group } = (object.spec ?? {}) as Partial<Definition['spec']>
  return Boolean(group && names?.kind && names.plural && versions && versions.length > 0)
}
