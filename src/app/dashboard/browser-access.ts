import { randomBytes } from 'node:crypto'
import type { Route } from '../../runtime/http/route.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import { OneTimeCodes } from './one-time-codes.ts'
import { Seal } from '../../runtime/sharing/seal.ts'
import { Sessions, type SessionRequest } from './sessions.ts'
import { linkPath, signInRoutes } from './sign-in.ts'

/** The link of the start is printed before its reader is there. */
const startLinkMs = 600_000

/** Sessions and links of browsers at `sojourn up`. They end with the process, whose key is in its memory alone. */
export function browserAccess(clock: Clock) {
  const sessions = new Sessions({ seal: new Seal(randomBytes(32)), clock })
  const codes = new OneTimeCodes(clock)
  return {
    /** The token of a request's session. The API server checks it as if it came in a header. */
    tokenOf(request: SessionRequest): string | undefined {
      const identity = sessions.find(request)
      return identity && 'token' in identity ? identity.token : undefined
    },
    routes: (nameOf: (token: string) => string | undefined): readonly Route[] =>
      signInRoutes({ sessions, codes, nameOf: (token) => Promise.resolve(nameOf(token)) }),
    /** The path of a link that signs one browser in as the user of this token. */
    startLink: (token: string): string => linkPath(codes.make(token, startLinkMs)),
  }
}
