import { networkHttp, type Network } from '../src/runtime/http/http.ts'
import { Outgoing } from '../src/runtime/http/outgoing.ts'

/** Reaches the servers that tests start on this machine. */
export function localNetwork(): Network {
  return networkHttp({ outgoing: new Outgoing({ for: 'administrators' }) })
}
