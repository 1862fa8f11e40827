import { CelBox } from './box.ts'

/** What CEL computes with. JSON is used in place: integral numbers are ints, others doubles, objects are maps. */
export type CelValue = null | boolean | string | number | bigint | Uint8Array | CelBox | readonly CelValue[] | JsonMap

/** A JSON object taken as a map with string keys. */
export interface JsonMap {
  readonly [key: string]: CelValue
}

/** A double whose value is integral; a bare JavaScript number of that value would be an int. */
export class CelDouble extends CelBox {
  readonly value: number

  constructor(value: number) {
    super()
    this.value = value
  }
}

/** An unsigned 64-bit integer. */
export class CelUint extends CelBox {
  readonly value: bigint

  constructor(value: bigint) {
    super()
    this.value = value
  }
}

/** A type as a value, as `type(x)` and the name `int` yield it. */
export class CelType extends CelBox {
  readonly name: string

  constructor(name: string) {
    super()
    this.name = name
  }
}

/** A value that may be absent; `undefined` inside means it is. */
export class CelOptional extends CelBox {
  static readonly none = new CelOptional(undefined)
  readonly value: CelValue | undefined

  constructor(value: CelValue | undefined) {
    super()
    this.value = value
  }
}

/** A value of a library's own type: compared by `equals`, named by `typeName`. */
export abstract class CelOpaque extends CelBox {
  abstract readonly typeName: string

  equals(other: CelOpaque): boolean {
    return this === other
  }

  /** The form `string()` and JSON show. */
  override toString(): string {
    return this.typeName
  }
}

/** Whether this is a map, be it a JSON object or one built by an expression. */
export function isJsonMap(value: CelValue): value is JsonMap {
  return (
    typeof value === 'object' &&
    value !== null &&
    !(value instanceof CelBox) &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  )
}
