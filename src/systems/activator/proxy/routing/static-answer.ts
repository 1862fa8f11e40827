/** An answer that the proxy gives by itself at one path. */
export interface StaticAnswer {
  /** Exactly as requested, without a query. */
  readonly path: string
  readonly status: number
  readonly type: string
  /** One character per byte. */
  readonly body: string
  /** `always`, or only while the workload is not up. */
  readonly when: 'always' | 'unavailable'
}

/** The answer a request gets without its workload, if it is one of these. Nothing else than reading is answered. */
export function findStaticAnswer(
  answers: readonly StaticAnswer[],
  method: string,
  target: string,
): StaticAnswer | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const query = target.indexOf('?')
  const path = query < 0 ? target : target.slice(0, query)
  return answers.find((answer) => answer.path === path)
}
