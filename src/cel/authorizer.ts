import { overload, type Library } from './functions.ts'
import type { Frame } from './frame.ts'
import { objectsAsMaps } from './parser.ts'
import { opaqueType } from './types.ts'
import { CelOpaque } from './values.ts'

/** What an expression asks the authorizer: a verb on a resource, or on a path. */
export interface AccessQuestion {
  readonly verb?: string
  /** Asks for this ServiceAccount instead of the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
}

type Ask = (question: AccessQuestion) => { readonly allowed: boolean; readonly reason: string }

const [authorizer, pathCheck, groupCheck, resourceCheck, decision] = (
  ['Authorizer', 'PathCheck', 'GroupCheck', 'ResourceCheck', 'Decision'] as const
).map((name) => `kubernetes.authorization.${name}`) as [string, string, string, string, string]

/** Each step of `authorizer.group('').resource('pods').check('get').allowed()` is one: what was said so far. */
class Step extends CelOpaque {
  readonly typeName: string
  readonly ask: Ask
  readonly said: AccessQuestion

  constructor(typeName: string, ask: Ask, said: AccessQuestion = {}) {
    super()
    this.typeName = typeName
    this.ask = ask
    this.said = said
  }

  with(type: string, said: AccessQuestion): Step {
    return new Step(type, this.ask, { ...this.said, ...said })
  }
}

/** The variables of an environment with an authorizer: `requestResource` is the resource of the request itself. */
export function authorizerValues(ask: Ask, request: AccessQuestion) {
  const requestResource = new Step(resourceCheck, ask, request)
  return { authorizer: new Step(authorizer, ask), 'authorizer.requestResource': requestResource }
}

export const authorizerTypes = {
  authorizer: opaqueType(authorizer),
  'authorizer.requestResource': opaqueType(resourceCheck),
}

/** What Kubernetes charges for a check: an expression affords two. */
const checkCost = 350_000

function check(frame: Frame, step: Step, verb: string): Step {
  frame.charge(checkCost)
  return step.with(decision, { verb })
}

function naming(from: string, part: keyof AccessQuestion, to: string) {
  return overload(`${from}.${part}(string) -> ${to}`, (_frame, step: Step, text: string) =>
    step.with(to, { [part]: text }),
  )
}

/** Kubernetes' authorizer library. Selectors are not served: RBAC ignores them. */
export const authorizerLibrary: Library = {
  name: 'kubernetes-authorizer',
  overloads: [
    naming(authorizer, 'path', pathCheck),
    naming(authorizer, 'group', groupCheck),
    naming(groupCheck, 'resource', resourceCheck),
    ...(['subresource', 'namespace', 'name'] as const).map((part) => naming(resourceCheck, part, resourceCheck)),
    overload(
      `${authorizer}.serviceAccount(string, string) -> ${authorizer}`,
      (_frame, step: Step, namespace: string, name: string) =>
        step.with(authorizer, { serviceAccount: { namespace, name } }),
    ),
    ...[pathCheck, resourceCheck].map((type) => overload(`${type}.check(string) -> ${decision}`, check)),
    overload(`${decision}.allowed() -> bool`, (_frame, { ask, said }: Step) => ask(said).allowed),
    overload(`${decision}.reason() -> string`, (_frame, { ask, said }: Step) => ask(said).reason),
    overload(`${decision}.errored() -> bool`, () => false),
    overload(`${decision}.error() -> string`, () => ''),
  ],
  types: [authorizer, pathCheck, groupCheck, resourceCheck, decision].map((name) => opaqueType(name)),
}

/** What expressions of mutations may use besides: objects, and the keys of JSON patches. */
export const mutationLibrary: Library = {
  name: 'kubernetes-mutations',
  macros: [objectsAsMaps],
  overloads: [
    overload('jsonpatch.escapeKey(string) -> string', (frame, key: string) => {
      frame.chargeText(key.length)
      return key.replaceAll('~', '~0').replaceAll('/', '~1')
    }),
  ],
}
