import { apiVersionOf, type KubeObject } from '../../../kube/object.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { ListResult, WatchEventText } from '../../objects/contract/request.ts'
import type { Document } from '../../store/document.ts'

/** The form in which objects are sent: as stored, as a Table, or as metadata only. */
export interface Presentation {
  readonly contentType: string
  /** Whether documents are sent as stored: their text needs no parsing then. */
  readonly isPlain: boolean
  one(document: Document): unknown
  /** A list without its items. */
  head(metadata: ListResult['metadata']): Readonly<Record<string, unknown>>
  readonly itemsField: 'items' | 'rows'
  item(document: Document): unknown
  /** How the stored text of an item begins where a list leaves out apiVersion and kind, as it does for built-in kinds. */
  readonly impliedStart?: string
  /** The object of a watch event; `isFirst` is true once per watch. */
  event(event: WatchEventText, isFirst: boolean): unknown
}

type PlainKind = Pick<ServedKind, 'group' | 'version' | 'kind' | 'listKind' | 'custom'>

/** Objects as they are stored. */
export function plainPresentation({ group, version, kind, listKind, custom }: PlainKind): Presentation {
  const apiVersion = apiVersionOf({ group, version })
  const show = (document: Document) => document.object
  return {
    contentType: 'application/json',
    isPlain: true,
    one: show,
    head: (metadata) => ({ kind: listKind, apiVersion, metadata }),
    itemsField: 'items',
    item: show,
    ...(custom ? {} : { impliedStart: `${JSON.stringify({ apiVersion, kind }).slice(0, -1)},` }),
    event: ({ document }) => document.object,
  }
}

/** Objects as PartialObjectMetadata of the given version of meta.k8s.io. */
export function metadataPresentation(version: string): Presentation {
  const apiVersion = `meta.k8s.io/${version}`
  const show = ({ object }: Document) => ({ kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata })
  return {
    contentType: 'application/json',
    isPlain: false,
    one: show,
    head: (metadata) => ({ kind: 'PartialObjectMetadataList', apiVersion, metadata }),
    itemsField: 'items',
    item: show,
    event: ({ type, document }) => (type === 'ERROR' ? document.object : show(document)),
  }
}

/** The columns of a kind's Table. */
export interface Columns {
  readonly definitions: readonly {
    readonly name: string
    readonly type: string
    readonly format: string
    readonly description: string
    readonly priority: number
  }[]
  cells(object: KubeObject): readonly unknown[]
}

/** How much of each object the rows of a Table contain. */
export type IncludeObject = 'None' | 'Metadata' | 'Object'

/** Objects as rows of a Table of the given version of meta.k8s.io. */
export function tablePresentation({
  version,
  columns,
  includeObject,
}: {
  readonly version: string
  readonly columns: Columns
  readonly includeObject: IncludeObject
}): Presentation {
  const apiVersion = `meta.k8s.io/${version}`
  const row = ({ object }: Document) => ({
    cells: columns.cells(object),
    ...included(object, includeObject, apiVersion),
  })
  const table = (metadata: unknown, rows: readonly unknown[], withColumns = true) => ({
    kind: 'Table',
    apiVersion,
    metadata,
    columnDefinitions: withColumns ? columns.definitions : null,
    rows,
  })
  return {
    contentType: 'application/json',
    isPlain: false,
    one: (document) => table({ resourceVersion: document.object.metadata.resourceVersion }, [row(document)]),
    head: (metadata) => ({ kind: 'Table', apiVersion, metadata, columnDefinitions: columns.definitions }),
    itemsField: 'rows',
    item: row,
    event: ({ type, document }, isFirst) => {
      if (type === 'ERROR') return document.object
      const { metadata } = document.object
      if (type === 'BOOKMARK') return table(metadata, [], isFirst)
      return table({ resourceVersion: metadata.resourceVersion }, [row(document)], isFirst)
    },
  }
}

function included(object: KubeObject, includeObject: IncludeObject, apiVersion: string): { object?: unknown } {
  switch (includeObject) {
    case 'None':
      return {}
    case 'Metadata':
      return { object: { kind: 'PartialObjectMetadata', apiVersion, metadata: object.metadata } }
    case 'Object':
      return { object }
  }
}
