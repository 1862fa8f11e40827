import type { HistogramDeclaration, MetricDeclaration } from './metrics.ts'

export type Labels<L extends string> = Readonly<Record<L, string>>

/** All series of one metric name. */
export interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  /** Everything that must agree when a metric is declared again. */
  readonly signature: string
  render(): string
}

/** Names come from users' objects: beyond this many series a metric counts them together rather than eat the memory. */
const maxSeries = 5000

/** Series by label values, in order of first use; all have the same labels. */
class Series<L extends string, S> {
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
  readonly #series = new Map<string, S>()
  readonly #create: () => S

  constructor({ name, help, labels = [] }: MetricDeclaration<L>, create: () => S) {
    this.name = name
    this.help = help
    this.labels = labels
    this.#create = create
  }

  of(labels: Partial<Labels<L>> = {}): S {
    const key = this.#keyOf(labels)
    const existing = this.#series.get(key)
    if (existing !== undefined) return existing
    const created = this.#create()
    if (this.#series.size < maxSeries) {
      this.#series.set(key, created)
      return created
    }
    return this.#overflow()
  }

  find(labels: Partial<Labels<L>> = {}): S | undefined {
    return this.#series.get(this.#keyOf(labels))
  }

  remove(labels: Partial<Labels<L>>): void {
    this.#series.delete(this.#keyOf(labels))
  }

  render(kind: string, lines: (series: S, labels: string) => string): string {
    const head = `# HELP ${this.name} ${escapeHelp(this.help)}\n# TYPE ${this.name} ${kind}\n`
    return head + [...this.#series].map(([labels, series]) => lines(series, labels)).join('')
  }

  signature(kind: string, extra = ''): string {
    return JSON.stringify([kind, this.help, this.labels, extra])
  }

  #overflow(): S {
    const key = this.labels.map((label) => `${label}="other"`).join(',')
    const existing = this.#series.get(key)
    if (existing !== undefined) return existing
    const created = this.#create()
    this.#series.set(key, created)
    return created
  }

  #keyOf(labels: Partial<Labels<L>>): string {
    let key = ''
    for (const label of this.labels) key += `${key && ','}${label}="${escapeValue(labels[label] ?? '')}"`
    return key
  }
}

/** Counts up. */
export class Counter<L extends string = string> implements Family {
  readonly kind = 'counter'
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
  readonly signature: string
  readonly #series: Series<L, { value: number }>

  constructor(declaration: MetricDeclaration<L>) {
    this.#series = new Series(declaration, () => ({ value: 0 }))
    ;({ name: this.name, help: this.help, labels: this.labels } = this.#series)
    this.signature = this.#series.signature(this.kind)
  }

  inc(labels?: Labels<L>, by = 1): void {
    if (by < 0) throw new Error(`counter ${this.name} cannot go down`)
    this.#series.of(labels).value += by
  }

  value(labels?: Labels<L>): number {
    return this.#series.find(labels)?.value ?? 0
  }

  render(): string {
    return this.#series.render(this.kind, ({ value }, labels) => sample(this.name, labels, value))
  }
}

/** Goes up and down. */
export class Gauge<L extends string = string> implements Family {
  readonly kind = 'gauge'
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
  readonly signature: string
  readonly #series: Series<L, { value: number }>

  constructor(declaration: MetricDeclaration<L>) {
    this.#series = new Series(declaration, () => ({ value: 0 }))
    ;({ name: this.name, help: this.help, labels: this.labels } = this.#series)
    this.signature = this.#series.signature(this.kind)
  }

  set(labels: Labels<L>, value: number): void {
    this.#series.of(labels).value = value
  }

  add(labels: Labels<L>, by: number): void {
    this.#series.of(labels).value += by
  }

  /** Forgets a series that no longer exists. */
  remove(labels: Labels<L>): void {
    this.#series.remove(labels)
  }

  value(labels?: Labels<L>): number {
    return this.#series.find(labels)?.value ?? 0
  }

  render(): string {
    return this.#series.render(this.kind, ({ value }, labels) => sample(this.name, labels, value))
  }
}

interface Observations {
  /** One more than there are bounds: the last is infinity. Not cumulative. */
  readonly counts: Float64Array
  sum: number
}

/** Counts observations by size. */
export class Histogram<L extends string = string> implements Family {
  readonly kind = 'histogram'
  readonly name: string
  readonly help: string
  readonly labels: readonly L[]
  readonly signature: string
  readonly #bounds: readonly number[]
  readonly #series: Series<L, Observations>

  constructor(declaration: HistogramDeclaration<L>) {
    const bounds = declaration.buckets ?? defaultBounds
    this.#bounds = bounds
    this.#series = new Series(declaration, () => ({ counts: new Float64Array(bounds.length + 1), sum: 0 }))
    ;({ name: this.name, help: this.help, labels: this.labels } = this.#series)
    this.signature = this.#series.signature(this.kind, bounds.join())
  }

  observe(labels: Labels<L>, value: number): void {
    const observations = this.#series.of(labels)
    const found = this.#bounds.findIndex((bound) => value <= bound)
    const bucket = found < 0 ? this.#bounds.length : found
    observations.counts[bucket] = (observations.counts[bucket] ?? 0) + 1
    observations.sum += value
  }

  count(labels?: Labels<L>): number {
    return this.#series.find(labels)?.counts.reduce((total, count) => total + count, 0) ?? 0
  }

  render(): string {
    return this.#series.render(this.kind, ({ counts, sum }, labels) => {
      let total = 0
      const buckets = [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
        total += counts[index] ?? 0
        return sample(`${this.name}_bucket`, joined(labels, `le="${formatNumber(bound)}"`), total)
      })
      return `${buckets.join('')}${sample(`${this.name}_sum`, labels, sum)}${sample(`${this.name}_count`, labels, total)}`
    })
  }
}

const defaultBounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels ? `{${labels}}` : ''} ${formatNumber(value)}\n`
}

function joined(labels: string, more: string): string {
  return labels ? `${labels},${more}` : more
}

function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}

function escapeValue(text: string): string {
  // Nearly none has anything to escape, and every count of everything asks.
  if (!/[\\"\n]/.test(text)) return text
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}
