/** One figure against what it must be. */
export interface Judgement {
  readonly what: string
  readonly measured: string
  readonly wanted: string
  readonly holds: boolean
}

/** Compares a figure with its bound. */
export function judged(
  what: string,
  value: number,
  bound: { readonly atLeast: number } | { readonly atMost: number },
): Judgement {
  const measured = value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
  if ('atLeast' in bound) {
    return { what, measured, wanted: `≥ ${bound.atLeast.toLocaleString('en')}`, holds: value >= bound.atLeast }
  }
  return { what, measured, wanted: `≤ ${bound.atMost.toLocaleString('en')}`, holds: value <= bound.atMost }
}
