import type { DeclaredMetric, HistogramDeclaration, MetricDeclaration } from './metrics.ts'

export type Labels<L extends string> = Readonly<Record<L, string>>

/** Names come from users' objects: beyond this many series a metric counts them together rather than eat the memory. */
const maxSeries = 5000

/** All series of one metric name, by label values, in order of first use. */
abstract class Metric<L extends string, S> implements DeclaredMetric {
  abstract readonly kind: 'counter' | 'gauge' | 'histogram'
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

  /** Everything that must agree when a metric is declared again. */
  get signature(): string {
    return JSON.stringify([this.kind, this.help, this.labels])
  }

  render(): string {
    const head = `# HELP ${this.name} ${escapeHelp(this.help)}\n# TYPE ${this.name} ${this.kind}\n`
    return head + [...this.#series].map(([labels, series]) => this.renderSeries(series, labels)).join('')
  }

  /** Forgets a series that no longer exists. */
  remove(labels: Labels<L>): void {
    this.#series.delete(this.#keyOf(labels))
  }

  protected abstract renderSeries(series: S, labels: string): string

  protected find(labels: Partial<Labels<L>> = {}): S | undefined {
    return this.#series.get(this.#keyOf(labels))
  }

  protected seriesOf(labels: Partial<Labels<L>> = {}): S {
    const key = this.#keyOf(labels)
    const existing = this.#series.get(key)
    if (existing !== undefined) return existing
    const overflow = this.labels.map((label) => `${label}="other"`).join(',')
    const used = this.#series.size < maxSeries ? key : overflow
    return this.#series.getOrInsertComputed(used, () => this.#create())
  }

  #keyOf(labels: Partial<Labels<L>>): string {
    let key = ''
    for (const label of this.labels) key += `${key && ','}${label}="${escapeValue(labels[label] ?? '')}"`
    return key
  }
}

/** One number for each series. */
abstract class NumberMetric<L extends string> extends Metric<L, { value: number }> {
  constructor(declaration: MetricDeclaration<L>) {
    super(declaration, () => ({ value: 0 }))
  }

  value(labels?: Labels<L>): number {
    return this.find(labels)?.value ?? 0
  }

  protected renderSeries({ value }: { readonly value: number }, labels: string): string {
    return sample(this.name, labels, value)
  }
}

/** Counts up. */
export class Counter<L extends string = string> extends NumberMetric<L> {
  readonly kind = 'counter' as const

  inc(labels?: Labels<L>, by = 1): void {
    if (by < 0) throw new Error(`counter ${this.name} cannot go down`)
    this.seriesOf(labels).value += by
  }
}

/** Goes up and down. */
export class Gauge<L extends string = string> extends NumberMetric<L> {
  readonly kind = 'gauge' as const

  set(labels: Labels<L>, value: number): void {
    this.seriesOf(labels).value = value
  }
}

interface Observations {
  /** One more than there are bounds: the last is infinity. Not cumulative. */
  readonly counts: Float64Array
  sum: number
}

/** Counts observations by size. */
export class Histogram<L extends string = string> extends Metric<L, Observations> {
  readonly kind = 'histogram' as const
  readonly #bounds: readonly number[]

  constructor({ buckets = defaultBounds, ...declaration }: HistogramDeclaration<L>) {
    super(declaration, () => ({ counts: new Float64Array(buckets.length + 1), sum: 0 }))
    this.#bounds = buckets
  }

  override get signature(): string {
    return `${super.signature}${this.#bounds.join()}`
  }

  observe(labels: Labels<L>, value: number): void {
    const observations = this.seriesOf(labels)
    const found = this.#bounds.findIndex((bound) => value <= bound)
    const bucket = found < 0 ? this.#bounds.length : found
    observations.counts[bucket] = (observations.counts[bucket] ?? 0) + 1
    observations.sum += value
  }

  /** Adds observations that were counted elsewhere, by bucket, the open one last. */
  add(labels: Labels<L>, counts: readonly number[], sum: number): void {
    const observations = this.seriesOf(labels)
    for (const [bucket, count] of counts.entries()) observations.counts[bucket]! += count
    observations.sum += sum
  }

  protected renderSeries({ counts, sum }: Observations, labels: string): string {
    let total = 0
    const buckets = [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
      total += counts[index] ?? 0
      return sample(`${this.name}_bucket`, joined(labels, `le="${formatNumber(bound)}"`), total)
    })
    return `${buckets.join('')}${sample(`${this.name}_sum`, labels, sum)}${sample(`${this.name}_count`, labels, total)}`
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
