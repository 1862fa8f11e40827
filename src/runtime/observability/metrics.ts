import { Counter, Gauge, Histogram } from './metric.ts'

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

/** A declaration with its kind, as the registry lists it. */
export interface DeclaredMetric extends MetricDeclaration {
  readonly kind: 'counter' | 'gauge' | 'histogram'
}

type Family = Counter | Gauge | Histogram

/** Every metric of the process. A name is declared once; declaring it again in the same words gives the same metric. */
export class Metrics {
  /** By name, in order of declaration. */
  readonly #families = new Map<string, Family>()
  readonly #collectors = new Set<() => void>()

  counter<L extends string = never>(declaration: MetricDeclaration<L>): Counter<L> {
    return this.#declare(new Counter(declaration)) as Counter<L>
  }

  gauge<L extends string = never>(declaration: MetricDeclaration<L>): Gauge<L> {
    return this.#declare(new Gauge(declaration)) as Gauge<L>
  }

  histogram<L extends string = never>(declaration: HistogramDeclaration<L>): Histogram<L> {
    return this.#declare(new Histogram(declaration)) as Histogram<L>
  }

  /** Calls this before each rendering, to set gauges of what is counted elsewhere. The result unregisters. */
  onCollect(collect: () => void): () => void {
    this.#collectors.add(collect)
    return () => void this.#collectors.delete(collect)
  }

  /** What there is, by name. */
  declarations(): readonly DeclaredMetric[] {
    return [...this.#families.values()]
      .map(({ kind, name, help, labels }) => ({ kind, name, help, labels }))
      .toSorted((left, right) => (left.name < right.name ? -1 : 1))
  }

  /** The Prometheus text format, version 0.0.4. */
  render(): string {
    for (const collect of this.#collectors) collect()
    return [...this.#families.values()].map((family) => family.render()).join('')
  }

  #declare(family: Family): Family {
    const existing = this.#families.get(family.name)
    if (!existing) {
      checkNames(family)
      this.#families.set(family.name, family)
      return family
    }
    if (existing.signature !== family.signature)
      throw new Error(`metric ${family.name} is declared twice, and differently`)
    return existing
  }
}

function checkNames({ name, labels = [] }: MetricDeclaration): void {
  if (!/^[a-z_:][a-z0-9_:]*$/.test(name)) throw new Error(`metric name ${name} is not in snake case`)
  for (const label of labels) {
    if (!/^[a-z_][a-z0-9_]*$/.test(label) || label === 'le')
      throw new Error(`metric ${name} cannot have a label ${label}`)
  }
}
