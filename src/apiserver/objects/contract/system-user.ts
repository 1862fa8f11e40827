import type { User } from './request.ts'

/** The server itself, when it changes something of its own accord. */
export const systemUser: User = { name: 'system:apiserver', groups: ['system:masters'] }
