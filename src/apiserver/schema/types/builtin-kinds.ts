import { kindRows, type KindRow } from './type-table.ts'

/** A kind served without a CRD, with its discovery data. */
export interface BuiltinKind extends KindRow {
  readonly singular: string
  readonly listKind: string
}

/** All kinds served without a CRD. */
export function builtinKinds(): readonly BuiltinKind[] {
  return (kinds ??= kindRows().map((row) =>
    Object.assign({}, row, { singular: row.kind.toLowerCase(), listKind: `${row.kind}List` }),
  ))
}

let kinds: readonly BuiltinKind[] | undefined
