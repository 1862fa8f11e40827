import type { RouteResponse } from '../../../runtime/http/route.ts'

export function ok(body: unknown): RouteResponse {
  return { status: 200, body }
}

/** A failure as Swabbie's clients expect one. */
export function problem(status: number, message: string): RouteResponse {
  return { status, body: { status, message } }
}
