import {
  forbidden,
  invalid,
  invalidValue,
  required,
  tooLong,
  unsupported,
  type FieldError,
} from '../../schema/types/field-error.ts'
import type { PatchRequest, WriteQuery } from './request.ts'

/** The options of a write, validated. */
export interface WriteOptions {
  readonly isDryRun: boolean
  readonly fieldValidation: 'Strict' | 'Warn' | 'Ignore'
  readonly manager: string
}

type OptionsKind = 'CreateOptions' | 'UpdateOptions' | 'PatchOptions'

const maxManagerLength = 128

/** Validates the options of a write; throws Invalid naming the option. */
export function parseWriteOptions(
  kind: OptionsKind,
  query: WriteQuery,
  more: readonly FieldError[] = [],
): WriteOptions {
  const { fieldManager = '', fieldValidation = '', dryRun = [], userAgent = '' } = query
  const errors = [
    ...more,
    ...dryRunErrors(dryRun),
    ...managerErrors(fieldManager),
    ...validationErrors(fieldValidation),
  ]
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors)
  return {
    isDryRun: dryRun.length > 0,
    fieldValidation: (fieldValidation || 'Warn') as WriteOptions['fieldValidation'],
    manager: fieldManager || managerFromAgent(userAgent),
  }
}

/** The same for a patch: apply requires a field manager, and only apply may force. */
export function parsePatchOptions(request: PatchRequest): WriteOptions {
  const { patchType, force, fieldManager } = request
  const errors: FieldError[] = []
  if (patchType !== 'apply' && force !== undefined)
    errors.push(forbidden('force', 'may not be specified for non-apply patch'))
  if (patchType === 'apply' && !fieldManager) errors.push(required('fieldManager', 'is required for apply patch'))
  return parseWriteOptions('PatchOptions', request, errors)
}

/** `All` is the only valid value of dryRun. */
export function* dryRunErrors(dryRun: readonly string[]): Generator<FieldError> {
  if (dryRun.some((value) => value !== 'All')) yield unsupported('dryRun', dryRun, ['All'])
}

function* managerErrors(manager: string): Generator<FieldError> {
  if (manager.length > maxManagerLength) yield tooLong('fieldManager', maxManagerLength)
  const at = manager.search(/\p{C}/u)
  const code = manager.codePointAt(at)?.toString(16).toUpperCase().padStart(4, '0')
  if (at >= 0) yield invalidValue('fieldManager', manager, `invalid character U+${code} (at position ${at})`)
}

function* validationErrors(value: string): Generator<FieldError> {
  if (!['', 'Strict', 'Warn', 'Ignore'].includes(value))
    yield unsupported('fieldValidation', value, ['', 'Ignore', 'Strict', 'Warn'])
}

/** The default field manager: `kubectl` for the user agent `kubectl/v1.33 (linux)`. */
function managerFromAgent(userAgent: string): string {
  const [first = ''] = userAgent.split('/')
  return first.replaceAll(/[^\x20-\x7e]/g, '').slice(0, maxManagerLength) || 'unknown'
}
