/** The group and version of the kinds that are ours. */
export const sojournGroup = { group: 'sojourn.dev', version: 'v1alpha1' } as const

/** By which a ClusterRole grants rights on users' objects to the roles that delete. */
export const targetsLabel = 'sojourn.dev/aggregate-to-targets'

/** What an administrator does about a right that Sojourn's own account lacks. */
export const howToGrant = `grant rights by a ClusterRole labelled ${targetsLabel}=true, or by a RoleBinding for the account`

/** Where what belongs to no namespace is kept. */
export const sojournNamespace = 'sojourn-system'
