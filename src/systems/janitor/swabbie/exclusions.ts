import type { ExclusionSpec } from '../../../apis/cleanup-policy.ts'
import { ConfigError } from '../../../client/cluster-config.ts'
import type { Settings } from './settings.ts'

/** The exclusions of a section. An exclusion without a value is an error: it would silently protect nothing. */
export function exclusionsOf(settings: Settings): readonly ExclusionSpec[] {
  return listed(settings, 'exclusions').map((exclusion) => ({
    type: exclusion.text('type') ?? '',
    attributes: listed(exclusion, 'attributes').map((attribute) => {
      const value = attribute.raw('value')
      if (value === undefined || value === null || (Array.isArray(value) && value.length === 0))
        throw new ConfigError(`${attribute.path}.value is missing: this exclusion would protect nothing`)
      return { key: attribute.text('key') ?? '', value: Array.isArray(value) ? (value as unknown[]) : [value] }
    }),
  }))
}

function listed(settings: Settings, key: string): readonly Settings[] {
  const value = settings.raw(key)
  if (value !== undefined && value !== null && !Array.isArray(value))
    throw new ConfigError(`${settings.path}.${key} must be a list: otherwise it would protect nothing`)
  return settings.parts(key)
}
