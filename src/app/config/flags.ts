export interface ConfigFlag {
  readonly type: 'string' | 'boolean'
  readonly help: string
  readonly value?: string
  /** How the shell completes the value. */
  readonly completes?: readonly string[] | { readonly listOf: readonly string[] } | 'files' | 'contexts'
}

/** Flags in the notation of `flagOf`, or as they are. */
export function flagsOf<Name extends string>(
  given: Readonly<Record<Name, string | ConfigFlag>>,
): Record<Name, ConfigFlag> {
  const flags = Object.entries<string | ConfigFlag>(given).map(([name, flag]) => [name, flagOf(flag)])
  return Object.fromEntries(flags) as Record<Name, ConfigFlag>
}

/** A flag written as `VALUE: help`; without a value it is a switch, and the shell completes files. */
export function flagOf(flag: string | ConfigFlag): ConfigFlag {
  if (typeof flag !== 'string') return flag
  const [, value, help] = /^([A-Z,…[\].-]+): (.*)$/.exec(flag) ?? []
  if (!value || !help) return { type: 'boolean', help: flag }
  return { type: 'string', help, value, ...(/^(?:FILE|DIR)$/.test(value) ? { completes: 'files' } : {}) }
}
