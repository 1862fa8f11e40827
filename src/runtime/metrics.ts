/** What is known of a metric before anything is measured: docs and dashboards are made from it. */
export interface MetricDeclaration<L extends string = string> {
  readonly name: string
  readonly help: string
  readonly labels?: readonly L[]
}

export interface HistogramDeclaration<L extends string = string> extends MetricDeclaration<L> {
  /** Upper bounds, ascending, without infinity. Defaults to 1 ms … 60 s, in seconds. */
  readonly buckets?: readonly number[]
}

export type Labels<L extends string> = Readonly<Record<L, string>>

/** Counts up. */
export declare class Counter<L extends string = string> {
  inc(labels?: Labels<L>, by?: number): void
  value(labels?: Labels<L>): number
}

/** Goes up and down. */
export declare class Gauge<L extends string = string> {
  set(labels: Labels<L>, value: number): void
  add(labels: Labels<L>, by: number): void
  /** Forgets a series that no longer exists. */
  remove(labels: Labels<L>): void
  value(labels?: Labels<L>): number
}

/** Counts observations by size. */
export declare class Histogram<L extends string = string> {
  observe(labels: Labels<L>, value: number): void
}

/** Every metric of the process. A name is declared once; declaring it again in the same words gives the same metric. */
export declare class Metrics {
  counter<L extends string = never>(declaration: MetricDeclaration<L>): Counter<L>
  gauge<L extends string = never>(declaration: MetricDeclaration<L>): Gauge<L>
  histogram<L extends string = never>(declaration: HistogramDeclaration<L>): Histogram<L>
  /** Calls this before each rendering, to set gauges of what is counted elsewhere. The result unregisters. */
  onCollect(collect: () => void): () => void
  /** What there is, by name. */
  declarations(): readonly (MetricDeclaration & { readonly kind: 'counter' | 'gauge' | 'histogram' })[]
  /** The Prometheus text format, version 0.0.4. */
  render(): string
}
