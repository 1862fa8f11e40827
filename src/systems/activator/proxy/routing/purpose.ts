/** What connections to a listener are for. */
export type Purpose =
  /** Requests, each to the route that its host leads to. */
  | { readonly is: 'hosts' }
  /** Questions whether a host's workload is up, from a proxy in front of it: each waits until it is. Nothing is forwarded. */
  | { readonly is: 'checks' }
  /** Requests, all to one route, whatever host they name. */
  | { readonly is: 'requests'; readonly route: string }
  /** Bytes of any protocol, all to one route, passed on as they are. */
  | { readonly is: 'bytes'; readonly route: string }

export const forHosts: Purpose = { is: 'hosts' }
