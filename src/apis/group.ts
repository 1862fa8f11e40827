/** The group and version of the kinds that are ours. */
export const sojournGroup = { group: 'sojourn.dev', version: 'v1alpha1' } as const

/** Where what belongs to no namespace is kept. */
export const sojournNamespace = 'sojourn-system'
