import table from './builtin-rules.json' with { type: 'json' }
import { jobRules } from './job-rules.ts'
import { plainRules, type KindRules } from './kind-rules.ts'
import { namespaceRules } from './namespace-rules.ts'
import { podRules } from './pod-rules.ts'

type Row = Partial<KindRules> & { readonly selectableFields?: readonly string[] }

const rows = table as Readonly<Record<string, Row>>

const startsPending: Partial<KindRules> = {
  prepareCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
}

const special: Readonly<Record<string, Partial<KindRules>>> = {
  namespaces: namespaceRules,
  pods: podRules,
  persistentvolumes: startsPending,
  persistentvolumeclaims: startsPending,
  'jobs.batch': jobRules,
}

/** The rules of a built-in kind, by its name in the store. */
export function builtinRules(resource: string, hasStatus: boolean): KindRules {
  const { selectableFields: _, ...rules } = rows[resource] ?? {}
  return { ...plainRules, hasStatus, ...rules, ...special[resource] }
}

/** The field labels of a built-in kind, besides metadata.name and metadata.namespace. */
export function builtinFields(resource: string): readonly string[] {
  return rows[resource]?.selectableFields ?? []
}
