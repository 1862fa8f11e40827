/** @type {Record<string, readonly string[]>} */
const tones = {
  good: ['Awake', 'Waking', 'Active', 'Succeeded', 'Ready', 'OptedOut', 'Complete', 'Restored'],
  bad: [
    'Leaving',
    'Held',
    'Deleting',
    'Failed',
    'Stalled',
    'Broken',
    'Due',
    'InvalidSpec',
    'TargetNotReadable',
    'TargetForbidden',
    'KindNotFound',
    'TooManyTargets',
    'TargetResolveError',
    'ConditionCompileError',
    'ConditionEvaluationError',
    'ConditionResultNotBoolean',
  ],
  warn: [
    'Announced',
    'Suspended',
    'Marked',
    'Notified',
    'AwaitingApproval',
    'Pending',
    'Unknown',
    'WaitingForConditions',
  ],
  calm: ['Superseded', 'Asleep', 'NotExpired', 'New', 'NoRevision'],
}

/** The colour a state is shown in. @param {string | undefined} state */
export function toneOf(state = '') {
  return Object.entries(tones).find(([, states]) => states.includes(state))?.[0] ?? 'plain'
}
