export interface ConfigFlag {
  readonly type: 'string' | 'boolean'
  readonly help: string
  readonly value?: string
  /** How the shell completes the value. */
  readonly completes?: readonly string[] | { readonly listOf: readonly string[] } | 'files' | 'contexts'
}

/** Flags written as `VALUE: help`; without a value they are switches, and the shell completes files. */
export function flagsOf<Name extends string>(
  given: Readonly<Record<Name, string | ConfigFlag>>,
): Record<Name, ConfigFlag> {
  const flags = Object.entries<string | ConfigFlag>(given).map(([name, flag]): [string, ConfigFlag] => {
    if (typeof flag !== 'string') return [name, flag]
    const [, value, help] = /^([A-Z,…[\].-]+): (.*)$/.exec(flag) ?? []
    if (!value || !help) return [name, { type: 'boolean', help: flag }]
    return [name, { type: 'string', help, value, ...(/^(?:FILE|DIR)$/.test(value) ? { completes: 'files' } : {}) }]
  })
  return Object.fromEntries(flags) as Record<Name, ConfigFlag>
}
