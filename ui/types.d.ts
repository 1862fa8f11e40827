import type { Bond } from '../src/apis/bond.ts'
import type { Cleaner } from '../src/apis/cleaner.ts'
import type { CleanupCandidate } from '../src/apis/cleanup-candidate.ts'
import type { CleanupOptOut } from '../src/apis/cleanup-opt-out.ts'
import type { ConditionalTtl } from '../src/apis/conditional-ttl.ts'
import type { Departure } from '../src/apis/departure.ts'
import type { Environment } from '../src/apis/environment.ts'
import type { Pipeline } from '../src/apis/pipeline.ts'
import type { StoredObject } from '../src/kube/object.ts'
import type { Mirror } from './mirror.js'

type Service = StoredObject
type Workload = StoredObject & { readonly spec?: { readonly replicas?: number } }
type Switches = StoredObject & { readonly data?: Readonly<Record<string, string>> }

/** What each list of the mirror holds, typed by the server's schemas. */
export interface Listed {
  cleaners: Cleaner
  ownCleaners: Cleaner
  ttls: ConditionalTtl
  environments: Environment
  candidates: CleanupCandidate
  optOuts: CleanupOptOut
  bonds: Bond
  departures: Departure
  pipelines: Pipeline
  services: Service
  deployments: Workload
  statefulsets: Workload
  door: Switches
}

export type ListName = keyof Listed

/** A page of the dashboard, from its opening to `close`. */
export interface View {
  readonly element: HTMLElement
  /** Draws the current state. */
  show(): void
  /** Whether the page shows this list. */
  concerns(list: ListName): boolean
  close(): void
}

/** `of` is the rest of the URL hash: `team/shop` of `#services/team/shop`. */
export type MakeView = (parts: { readonly mirror: Mirror; readonly of: string }) => View

/** A reference to an object. */
export interface Ref {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
  readonly uid?: string
}

/** An object that Sojourn manages: its state, what happens to it next, when and why. */
export interface ManagedItem {
  readonly object: Ref
  readonly system: string
  readonly state: string
  readonly since?: number
  readonly next?: { readonly what: string; readonly at?: number; readonly isEnd: boolean }
  readonly why: string
}

/** What an expression like `button.primary` makes. */
export type ElementOf<Tag extends string> = Tag extends `${infer Name}.${string}` ? Named<Name> : Named<Tag>

type Named<Name extends string> = Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement

export type Child = Node | string | number | false | null | undefined

export type Attribute = string | number | boolean | undefined
