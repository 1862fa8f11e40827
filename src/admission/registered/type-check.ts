import type { ServedKind } from '../../apiserver/kinds/contract/served-kind.ts'
import { systemUser } from '../../apiserver/objects/contract/system-user.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import {
  structType,
  type Scalar,
  type StructType,
  type TypeExpression,
} from '../../apiserver/schema/types/type-table.ts'
import type { Store } from '../../apiserver/store/store.ts'
import { CelCompileError } from '../../cel/errors.ts'
import { describeIssues } from '../../cel/go-messages.ts'
import { PolicyProgram } from '../../cel/policy-program.ts'
import { typeFromSchema, type Schema } from '../../cel/schema.ts'
import type { Type } from '../../cel/types.ts'
import { apiVersionOf, parseApiVersion } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { group, type Policy, type Validating } from './policies.ts'
import type { Background } from './quotas.ts'

type Server = Pick<ApiServer, 'kinds' | 'objects'>
const resource = `validatingadmissionpolicies.${group}`
/** As in kube-apiserver: a policy for more kinds than these is checked for the first of them. */
const maxKinds = 10

type Checked = Policy<Validating> & { readonly status?: { readonly observedGeneration?: number } }

/** Checks the expressions of each new ValidatingAdmissionPolicy by the types of its kinds, and writes its status. */
export function followPolicyTypes(store: Pick<Store, 'scan' | 'subscribe'>, { server, onError }: Background): void {
  const check = (policy: Checked) => {
    const { name, generation } = policy.metadata
    const type = server.kinds.ofResource(resource)
    if (!type || policy.status?.observedGeneration === generation) return
    const found = expressionWarnings(server, policy)
    const typeChecking = found.length > 0 ? { expressionWarnings: found } : {}
    const body = { status: { observedGeneration: generation, typeChecking } }
    void server.objects
      .patch({ type, name, subresource: 'status', user: systemUser, patchType: 'merge', body })
      .catch(ignoring('NotFound', 'Conflict'))
      .catch(onError)
  }
  for (const { document } of store.scan({ resource, limit: Number.MAX_SAFE_INTEGER })) check(document.value as Checked)
  store.subscribe((events) => {
    for (const event of events)
      if (event.resource === resource && event.type !== 'delete') check(event.document.value as Checked)
  })
}

interface Warning {
  readonly fieldRef: string
  readonly warning: string
}

/** What is wrong with the expressions of a policy for the kinds that it names one by one. */
export function expressionWarnings(server: Server, { spec }: Policy<Validating>): readonly Warning[] {
  const programs = kindsOf(server, spec.matchConstraints?.resourceRules ?? []).map((kind) => {
    const object = typeOf(kind)
    const { paramKind } = spec
    const param = paramKind && server.kinds.ofKind({ ...parseApiVersion(paramKind.apiVersion), kind: paramKind.kind })
    const types = { object, oldObject: object, ...(param ? { params: typeOf(param) } : {}) }
    return { kind, program: new PolicyProgram(spec, types) }
  })
  const warningsOf = (fieldRef: string, expression: string | undefined): readonly Warning[] => {
    const texts = programs.flatMap(({ kind, program }) => {
      const compiled = expression ? program.compiled(expression) : undefined
      if (!(compiled instanceof CelCompileError)) return []
      return [`${apiVersionOf(kind)}, Kind=${kind.kind}: ${describeIssues(compiled, expression ?? '')}\n`]
    })
    return texts.length > 0 ? [{ fieldRef, warning: texts.join('') }] : []
  }
  return (spec.validations ?? []).flatMap(({ expression, messageExpression }, index) => [
    ...warningsOf(`spec.validations[${index}].expression`, expression),
    ...warningsOf(`spec.validations[${index}].messageExpression`, messageExpression),
  ])
}

type Rules = NonNullable<NonNullable<Policy['spec']['matchConstraints']>['resourceRules']>

/** The kinds that rules name without a wildcard. */
function kindsOf({ kinds }: Server, rules: Rules): readonly ServedKind[] {
  const named = rules.flatMap(({ apiGroups = [], apiVersions = [], resources = [] }) =>
    apiGroups.flatMap((name) =>
      apiVersions.flatMap((version) => resources.map((plural) => ({ name, version, plural }))),
    ),
  )
  const found = named.flatMap(({ name, version, plural }) => kinds.find({ group: name, version, plural }) ?? [])
  return [...new Set(found)].slice(0, maxKinds)
}

/** The type of the objects of a kind: selecting a field that it does not have is an error. */
function typeOf({ schema }: ServedKind): Type {
  const { struct, structural } = schema
  const metadata = structType('meta/v1.ObjectMeta')
  const common = { apiVersion: text, kind: text, ...(metadata ? { metadata: structSchema(metadata, []) } : {}) }
  const { properties } = struct ? structSchema(struct, []) : (structural ?? {})
  return typeFromSchema({ ...structural, type: 'object', properties: { ...properties, ...common } })
}

const text: Schema = { type: 'string' }
const any: Schema = { 'x-kubernetes-preserve-unknown-fields': true }
const scalars: Partial<Record<Scalar, Schema>> = {
  string: text,
  bool: { type: 'boolean' },
  int32: { type: 'integer' },
  int64: { type: 'integer' },
  double: { type: 'number' },
  bytes: { type: 'string', format: 'byte' },
  Time: { type: 'string', format: 'date-time' },
  MicroTime: { type: 'string', format: 'date-time' },
  Strings: { type: 'array', items: text },
}

/** `within` are the types that it is part of: one that contains itself is not followed. */
function structSchema(struct: StructType, within: readonly StructType[]): Schema {
  if (within.includes(struct)) return any
  const schemaOf = (type: TypeExpression): Schema => {
    switch (type.is) {
      case 'struct':
        return structSchema(type.struct, [...within, struct])
      case 'list':
        return { type: 'array', items: schemaOf(type.of) }
      case 'map':
        return { type: 'object', additionalProperties: schemaOf(type.of) }
      case 'scalar':
        return scalars[type.scalar] ?? any
    }
  }
  const properties = [...struct.fields].map(([name, { type }]) => [name, schemaOf(type)] as const)
  return { type: 'object', properties: Object.fromEntries(properties) }
}
