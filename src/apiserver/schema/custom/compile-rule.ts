import { compile } from '../../../cel/compile.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { CelCompileError } from '../../../cel/errors.ts'
import { describeIssues } from '../../../cel/go-messages.ts'
import type { Program } from '../../../cel/program.ts'
import { typeFromSchema } from '../../../cel/schema.ts'
import { optionalType, type Type } from '../../../cel/types.ts'
import type { CelValue } from '../../../cel/values.ts'
import { forbidden, invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import type { StructuralSchema, ValidationRule } from '../types/structural-schema.ts'

/** The CEL type of `self` at a node of the schema. */
export interface SelfType {
  readonly type: Type
  /** Converts stored JSON to the value that expressions see. */
  readonly adapt: (json: unknown) => CelValue
}

/** A compiled rule. */
export interface CompiledRule {
  readonly rule: ValidationRule
  readonly program: Program
  readonly message: Program | undefined
  /** Whether it uses `oldSelf` (transition rule); it is skipped for new values then. */
  readonly usesOldSelf: boolean
}

/** The CEL type of the values that a schema describes. */
export function selfType(schema: StructuralSchema, isRoot: boolean): SelfType {
  if (isRoot) return { type: typeFromSchema(schema, { isRoot: true, name: 'self' }), adapt: (json) => json as CelValue }
  const holder = typeFromSchema({ type: 'object', properties: { value: schema } }, { name: 'self' })
  const field = holder.kind === 'object' ? holder.fields.get('value') : undefined
  if (!field) throw new Error('a schema has no type')
  const adapt = field.adapt as ((json: unknown) => CelValue) | undefined
  return { type: field.type, adapt: adapt ?? ((json) => json as CelValue) }
}

/** Compiles a rule, or returns its faults. `path` is the path of the rule in the CRD. */
export function compileRule(
  rule: ValidationRule,
  self: SelfType,
  { path, schema }: { readonly path: string; readonly schema: StructuralSchema },
): CompiledRule | readonly FieldError[] {
  const written = [...writtenFaults(rule, path), ...pathFaults(rule, path, schema)]
  if (written.length > 0) return written
  const alone = kubernetesEnvironment({ self: self.type })
  const oldSelf = rule.optionalOldSelf ? optionalType(self.type) : self.type
  const both = kubernetesEnvironment({ self: self.type, oldSelf })
  const plain = compile(rule.rule, alone)
  const program = plain instanceof CelCompileError ? compile(rule.rule, both) : plain
  const usesOldSelf = plain instanceof CelCompileError && !(program instanceof CelCompileError)
  const faults = [...programFaults(rule, program, path, 'rule')]
  const message = rule.messageExpression ? compile(rule.messageExpression, both) : undefined
  if (message) faults.push(...programFaults(rule, message, path, 'messageExpression'))
  if (rule.optionalOldSelf !== undefined && !usesOldSelf && faults.length === 0) {
    faults.push(
      invalidValue(`${path}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
    )
  }
  if (faults.length > 0 || program instanceof CelCompileError || message instanceof CelCompileError) return faults
  return { rule, program, message, usesOldSelf }
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired']

function* writtenFaults(rule: ValidationRule, path: string): Generator<FieldError> {
  const { message = '', messageExpression, reason, fieldPath } = rule
  const text = rule.rule?.trim() ?? ''
  if (!text) yield required(`${path}.rule`, 'rule is not specified')
  else if (rule.rule.length > maxRuleBytes)
    yield forbidden(`${path}.rule`, `may not be more than ${maxRuleBytes} bytes`)
  else if (message && !message.trim()) yield invalidValue(`${path}.message`, message, 'must be non-empty if specified')
  else if (message.trim().includes('\n')) yield invalidValue(`${path}.message`, message, 'must not contain line breaks')
  else if (text.includes('\n') && !message.trim()) {
    yield required(`${path}.message`, 'message must be specified if rule contains line breaks')
  }
  if (messageExpression && !messageExpression.trim()) {
    yield required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified')
  }
  if (reason && !reasons.includes(reason)) yield unsupported(`${path}.reason`, reason, reasons)
  if (fieldPath && !fieldPath.trim())
    yield invalidValue(`${path}.fieldPath`, fieldPath, 'must be non-empty if specified')
}

const maxRuleBytes = 65_536

/** `fieldPath` must name a field below the rule's own node. */
function* pathFaults({ fieldPath }: ValidationRule, path: string, schema: StructuralSchema): Generator<FieldError> {
  if (!fieldPath?.trim()) return
  if (fieldPath.includes('\n')) yield invalidValue(`${path}.fieldPath`, fieldPath, 'must not contain line breaks')
  const steps = [...fieldPath.matchAll(/\.([\w-]+)|\['([^']*)'\]/g)]
  const found = steps.reduce<StructuralSchema | undefined>(
    (at, [, name, key]) => fieldOf(at, name ?? key ?? ''),
    schema,
  )
  const isWhole = steps.map(([step]) => step).join('') === fieldPath
  if (!isWhole || !found) yield invalidValue(`${path}.fieldPath`, fieldPath, 'must be a valid path')
}

function fieldOf(schema: StructuralSchema | undefined, name: string): StructuralSchema | undefined {
  const { properties = {}, additionalProperties } = schema ?? {}
  if (Object.hasOwn(properties, name)) return properties[name]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

function* programFaults(
  rule: ValidationRule,
  program: Program | CelCompileError,
  path: string,
  what: 'rule' | 'messageExpression',
): Generator<FieldError> {
  const at = `${path}.${what}`
  const isMessage = what === 'messageExpression'
  if (program instanceof CelCompileError) {
    const source = (isMessage ? rule.messageExpression : rule.rule) ?? ''
    yield invalidValue(
      at,
      shown(rule),
      `${isMessage ? 'messageExpression ' : ''}compilation failed: ${describeIssues(program, source)}`,
    )
  } else if (isMessage && program.type.kind !== 'string' && program.type.kind !== 'dyn') {
    yield invalidValue(at, shown(rule), 'messageExpression must evaluate to a string')
  } else if (!isMessage && program.type.kind !== 'bool' && program.type.kind !== 'dyn') {
    yield invalidValue(at, shown(rule), 'cel expression must evaluate to a bool')
  }
}

/** A rule as the API prints it in errors: by its Go field names. */
function shown(rule: ValidationRule): Record<string, unknown> {
  const { message = '', messageExpression = '', reason = null, fieldPath = '', optionalOldSelf = null } = rule
  return {
    Rule: rule.rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf,
  }
}
