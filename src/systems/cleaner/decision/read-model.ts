import type { Release } from '../../../helm/release.ts'
import { cleaner, type CleanerSpec } from '../../../apis/cleaner.ts'
import type { ConditionalTtlSpec } from '../../../apis/conditional-ttl.ts'
import { apiVersionOf, type KubeObject } from '../../../kube/object.ts'
import {
  formatSelector,
  parseLabelSelector,
  requirementsOf,
  type LabelSelector,
  type Requirement,
} from '../../../kube/selector.ts'
import { parseDuration, parseLongDuration } from '../../../kube/time.ts'
import { conditionProblems } from './conditions.ts'
import {
  defaultIdlePeriodMs,
  defaultPeriodMs,
  type Model,
  type Problem,
  type Reading,
  type Sink,
  type Target,
} from './model.ts'

/** Validates a Cleaner or ConditionalTTL and converts it to the common model; all problems are reported together. */
export function readModel(object: KubeObject): Reading {
  const { spec } = object
  if (typeof spec !== 'object' || spec === null) return { problems: [{ field: 'spec', message: 'Required value' }] }
  const problems = new Problems()
  const model =
    object.kind === cleaner.kind
      ? readCleaner(spec as CleanerSpec, problems, cleanerDialect)
      : readConditionalTtl(spec as ConditionalTtlSpec, problems)
  const all = [...problems.found, ...targetProblems(model.targets, object), ...conditionProblems(model)]
  return all.length > 0 ? { problems: all } : { model }
}

/** The limit of Go's time.Duration, 2^63 - 1 nanoseconds: Go clients reject anything longer. */
const maxMs = 9_223_372_036_854

class Problems {
  readonly found: Problem[] = []

  add(field: string, message: string): void {
    this.found.push({ field, message })
  }

  /** The duration in milliseconds; 0 after adding a problem when it is invalid. */
  duration(
    field: string,
    text: unknown,
    { parse, minMs }: { parse: (text: string) => number | undefined; minMs: number },
  ): number {
    const ms = typeof text === 'string' ? parse(text) : undefined
    if (ms === undefined)
      this.add(field, `Invalid value: ${JSON.stringify(text)}: must be a duration such as 90m or 360h`)
    else if (ms < minMs) this.add(field, `Invalid value: ${JSON.stringify(text)}: must be at least ${minMs / 1000}s`)
    else if (ms > maxMs) this.add(field, `Invalid value: ${JSON.stringify(text)}: must be at most 2562047h47m16s`)
    else return ms
    return 0
  }
}

function readCleaner(spec: CleanerSpec, problems: Problems, { parse, onMissing }: Dialect): Model {
  const { helm, cloudEventSink } = spec
  const releases = [
    ...(helm?.release === undefined && !(helm?.delete && !helm.releases) ? [] : [{ at: 'spec.helm', written: helm }]),
    ...(helm?.releases ?? []).map((written, index) => ({ at: `spec.helm.releases[${index}]`, written })),
  ]
  return {
    ttlMs: problems.duration('spec.ttl', spec.ttl, { parse, minMs: 0 }),
    ...periodsOf(spec.retry, problems, parse),
    monotonic: spec.retry?.monotonic ?? false,
    targets: (spec.targets ?? []).map((target, index) => {
      const { reference } = target
      const at = `spec.targets[${index}].reference`
      return {
        name: target.name,
        apiVersion:
          reference.apiVersion ?? apiVersionOf({ group: reference.apiGroup ?? '', version: reference.version ?? 'v1' }),
        kind: reference.kind,
        select: selection(
          at,
          { name: reference.name, selector: mergedSelector(reference), all: reference.matchAll ?? false },
          problems,
        ),
        delete: target.delete ?? false,
        evaluate: target.includeWhenEvaluating ?? false,
        onMissing: target.onMissing ?? onMissing,
        excludeTerminating: target.excludeTerminating ?? false,
        ...(target.propagationPolicy ? { propagation: target.propagationPolicy } : {}),
      }
    }),
    conditions: spec.conditions ?? [],
    releases: releases
      .filter(({ written }) => written.delete)
      .map(({ at, written }) => readRelease(at, written, problems)),
    ...(spec.wait === undefined
      ? {}
      : { waitMs: problems.duration('spec.wait', spec.wait, { parse: parseLongDuration, minMs: 0 }) }),
    ...sinkOf(
      { url: cloudEventSink, required: spec.cloudEventRequired ?? false, timeout: spec.cloudEventTimeout },
      problems,
    ),
    ...warnOf(spec.warn, problems),
    suspend: spec.suspend ?? false,
    dryRun: spec.dryRun ?? false,
    schedules: spec.schedule === undefined ? [] : [spec.schedule],
  }
}

/** What a ConditionalTTL reads differently, as cleaner-controller does. */
interface Dialect {
  readonly parse: (text: string) => number | undefined
  readonly onMissing: Target['onMissing']
}

const cleanerDialect: Dialect = { parse: parseLongDuration, onMissing: 'Wait' }
const conditionalTtlDialect: Dialect = { parse: parseDuration, onMissing: 'WaitForAny' }

function readConditionalTtl(spec: ConditionalTtlSpec, problems: Problems): Model {
  const targets = (spec.targets ?? []).map((target, index) => {
    const { apiVersion = '', kind = '', name, labelSelector } = target.reference
    const at = `spec.targets[${index}].reference`
    if (!apiVersion) problems.add(`${at}.apiVersion`, 'Required value')
    if (!kind) problems.add(`${at}.kind`, 'Required value')
    // A name takes precedence over a selector.
    const select = name === undefined ? (labelSelector ? { labelSelector } : {}) : { name }
    return { ...target, reference: { apiVersion, kind, ...select } }
  })
  // cleaner-controller insists on the delivery.
  return readCleaner({ ...spec, targets, cloudEventTimeout: '30d' }, problems, conditionalTtlDialect)
}

function periodsOf(
  retry: { readonly period: string } | undefined,
  problems: Problems,
  parse: (text: string) => number | undefined,
): Pick<Model, 'periodMs' | 'idlePeriodMs'> {
  if (!retry) return { periodMs: defaultPeriodMs, idlePeriodMs: defaultIdlePeriodMs }
  const periodMs = problems.duration('spec.retry.period', retry.period, { parse, minMs: 1000 })
  return { periodMs, idlePeriodMs: periodMs }
}

function selection(
  at: string,
  { name, selector, all }: { name: string | undefined; selector: LabelSelector | undefined; all: boolean },
  problems: Problems,
): Target['select'] {
  if (name !== undefined && selector) problems.add(at, 'Invalid value: name and label selectors are mutually exclusive')
  if (all && (name !== undefined || selector))
    problems.add(`${at}.matchAll`, 'Invalid value: true: must not be combined with a name or label selectors')
  if (all) return { by: 'labels', requirements: [] }
  if (name !== undefined) {
    if (name === '') problems.add(`${at}.name`, 'Invalid value: "": must not be empty')
    return { by: 'name', name }
  }
  if (!selector) {
    problems.add(at, 'Required value: set name, matchLabels, labelSelector or matchAll')
    return { by: 'labels', requirements: [] }
  }
  const requirements = requirementsFrom(at, selector, problems)
  if (requirements?.length === 0)
    problems.add(
      at,
      'Invalid value: an empty selector selects every object: set matchAll: true to select all on purpose',
    )
  return { by: 'labels', requirements: requirements ?? [] }
}

function requirementsFrom(at: string, selector: LabelSelector, problems: Problems): readonly Requirement[] | undefined {
  try {
    const requirements = requirementsOf(selector)
    parseLabelSelector(formatSelector(requirements))
    return requirements
  } catch (error) {
    problems.add(at, `Invalid value: ${(error as Error).message}`)
    return undefined
  }
}

function mergedSelector({
  matchLabels,
  labelSelector,
}: {
  readonly matchLabels?: Record<string, string>
  readonly labelSelector?: LabelSelector
}): LabelSelector | undefined {
  if (!matchLabels && !labelSelector) return undefined
  return { ...labelSelector, matchLabels: { ...labelSelector?.matchLabels, ...matchLabels } }
}

type WrittenRelease = NonNullable<CleanerSpec['helm']>

function readRelease(
  at: string,
  written: Pick<WrittenRelease, 'release' | 'driver' | 'disableHooks' | 'timeout'>,
  problems: Problems,
): Release {
  const { release: name = '', driver = 'secret', disableHooks = false, timeout } = written
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name) || name.length > 53) {
    problems.add(
      `${at}.release`,
      `Invalid value: ${JSON.stringify(name)}: must be the name of a Helm release, at most 53 characters`,
    )
  }
  const timeoutMs =
    timeout === undefined ? 300_000 : problems.duration(`${at}.timeout`, timeout, { parse: parseDuration, minMs: 1000 })
  return { name, driver, disableHooks, timeoutMs }
}

function sinkOf(
  { url, required, timeout }: { url: string | undefined; required: boolean; timeout: string | undefined },
  problems: Problems,
): { sink?: Sink } {
  if (url === undefined || url === '') return {}
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    problems.add('spec.cloudEventSink', `Invalid value: ${JSON.stringify(url)}: must be an http(s) URL`)
  if (timeout === undefined) return { sink: { url, required } }
  const ms = problems.duration('spec.cloudEventTimeout', timeout, { parse: parseLongDuration, minMs: 1000 })
  return { sink: { url, required, timeoutSeconds: Math.ceil(ms / 1000) } }
}

function warnOf(warn: CleanerSpec['warn'], problems: Problems): Pick<Model, 'warn'> {
  if (!warn) return {}
  const beforeMs = problems.duration('spec.warn.before', warn.before, { parse: parseLongDuration, minMs: 1000 })
  return { warn: { beforeMs, channels: warn.channels ?? [] } }
}

/** Invalid or duplicate target names, and a target that is the Cleaner itself. */
function targetProblems(targets: readonly Target[], self: KubeObject): readonly Problem[] {
  return targets.flatMap((target, index) => {
    const field = `spec.targets[${index}]`
    const nameProblem = nameProblemOf(targets, index)
    if (nameProblem) return [{ field: `${field}.name`, message: nameProblem }]
    const { kind, apiVersion, select } = target
    const isSelf =
      kind.toLowerCase() === self.kind.toLowerCase() &&
      apiVersion === self.apiVersion &&
      select.by === 'name' &&
      select.name === self.metadata.name
    if (!isSelf || !target.delete) return []
    const message = 'Invalid value: a Cleaner deletes itself in the end and must not list itself as a target'
    return [{ field: `${field}.reference`, message }]
  })
}

function nameProblemOf(targets: readonly Target[], index: number): string | undefined {
  const { name = '' } = targets[index] ?? {}
  if (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name))
    return `Invalid value: "${name}": conditions cannot refer to it; use letters, digits and _, and start with a letter or _`
  if (reservedNames.has(name)) return `Invalid value: "${name}": is reserved in conditions; choose another name`
  return targets.findIndex((other) => other.name === name) < index ? `Duplicate value: "${name}"` : undefined
}

const reservedNames = new Set(
  'time true false null in as break const continue else for function if import let loop package namespace return var void while int uint double bool string bytes list map type dyn timestamp duration null_type'.split(
    ' ',
  ),
)
