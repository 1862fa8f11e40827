import { inFile, type Guard } from '../../scripts/guards/guard.ts'

/** What keeps Cleaners within the rights of their creators. */
export const cleanerGuards: readonly Guard[] = [
  ...inFile('src/systems/cleaner/decision/conditions.ts', [
    ['136: conditions', 'if (length > maxSource)', 'if (length > 1e9)'],
  ]),
  ...inFile('src/cel/frame.ts', [
    ['139: is never given back', '(text.length * (part.length + 1)) / 32', '(text.length * (part.length + 1)) >> 5'],
  ]),
  ...inFile('src/cel/libraries/string-format.ts', [
    [
      '139: is paid before a formatted text',
      "if (typeof value === 'string') return paid(frame, value)",
      "if (typeof value === 'string') return value",
    ],
  ]),
  ...inFile('src/cel/libraries/kubernetes-regex.ts', [
    ['139: is paid for each match', 'chargeSearch(frame, text.length - matcher.end(), source)', ''],
  ]),
  ...inFile('src/departures/door/budget.ts', [
    ['59: a tenant', ', scope }\n  }\n\n  #dropIdle', ' }\n  }\n\n  #dropIdle'],
  ]),
  ...inFile('src/tenancy/act-as.ts', [
    ['48: its own Namespace', ' && isRead(access))', ')'],
    [
      '1: a hook in another namespace is not created',
      "if (fault !== undefined) return { reason: 'Confined', message: `${describeAccess(access)}: ${fault}${why}` }",
      '',
    ],
    [
      'does not believe a record',
      '(await this.#ports.provesCreators()) ? recordedCreator(object) : undefined',
      'recordedCreator(object)',
    ],
    ['40: an account that does not exist', 'if (!(await isFound()))', 'if (false as boolean)'],
    ['38: an account named with a slash', 'if (!isAccountName(name)) return false', 'return true'],
  ]),
  ...inFile('src/tenancy/confinement.ts', [
    [
      'never reaches',
      "if (access.verb !== 'delete' && grantsRights(access) && !isImpersonated)",
      'if (false as boolean)',
    ],
    ['never reaches', "if (access.namespace === '' && !isOwnNamespace(access, confinement))", 'if (false as boolean)'],
  ]),
  ...inFile('src/helm/release-rights.ts', [
    [
      '3: before-hook-creation deletes nothing in another namespace',
      'const refusal = await refusalOfHook(place, object)',
      'const refusal = undefined as Refusal | undefined',
    ],
    [
      '6: objects of another namespace without the release in their annotations are kept',
      'return metadata.namespace === namespace ? namesRelease || name === undefined : namesRelease',
      'return true',
    ],
    [
      '6: objects of another namespace that the creator may not delete',
      "return (isElsewhere ? actorElsewhere : actor).refusalOf(accessTo('delete', type, object.metadata))",
      'return Promise.resolve(isElsewhere && !actorElsewhere ? actor.refusalOf({} as never) : undefined)',
    ],
  ]),
  ...inFile('src/helm/release-holders.ts', [
    [
      '5: a record that says it is of another namespace',
      "if (record.name === release.name && ['', namespace].includes(record.namespace)) return { record, fault: '' }",
      "return { record, fault: '' }",
    ],
    [
      '30: a user who may only write Cleaners uninstalls no release',
      'const refusal = await actor.refusalOf(accessTo(verb, type, { namespace }))',
      'const refusal = undefined as Refusal | undefined',
    ],
  ]),
  ...inFile('src/helm/hooks.ts', [
    [
      '3: before-hook-creation deletes nothing that belongs to another release',
      'if (found && !this.#support.owns(found)) {',
      'if (false as boolean) {',
    ],
  ]),
  ...inFile('src/helm/uninstall.ts', [
    ['9: a record that changes', 'if (digest !== undefined && digest !== digestOf(record))', 'if (false as boolean)'],
  ]),
  ...inFile('src/systems/cleaner/observe.ts', [
    [
      '30: a user who may only write Cleaners cannot ask by a condition',
      "return refusal ? { found: 'refused', refusal } : at",
      'return at',
    ],
  ]),
  ...inFile('src/systems/cleaner/delete-targets.ts', [
    [
      'one target that its creator may not delete stays',
      'if (refusal) return { retryAt: clock.now() + refusalRetryMs, held: [], refusal }',
      '',
    ],
  ]),
]
