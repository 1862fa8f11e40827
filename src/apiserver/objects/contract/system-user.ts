import type { User } from './request.ts'

/** The user of writes by the server's own controllers. */
export const systemUser: User = { name: 'system:apiserver', groups: ['system:masters'] }
