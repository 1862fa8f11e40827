import { CelError } from '../errors.ts'
import { overload, type Library } from '../functions.ts'

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** cel-go's encoders extension. */
export const encodersLibrary: Library = {
  name: 'encoders',
  overloads: [
    overload('base64.encode(bytes) -> string', (frame, bytes: Uint8Array) => {
      frame.chargeText(bytes.length * 2)
      return Buffer.from(bytes).toString('base64')
    }),
    overload('base64.decode(string) -> bytes', (frame, text: string) => {
      frame.chargeText(text.length * 2)
      if (!base64.test(text) || text.replace(/=+$/, '').length % 4 === 1) return new CelError('invalid base64')
      return new Uint8Array(Buffer.from(text, 'base64'))
    }),
  ],
}

/** `cel.bind(x, value, body)`. */
export const bindingsLibrary: Library = { name: 'bindings', overloads: [], macros: ['cel.bind'] }

/** `transformList`, `transformMap`, `transformMapEntry`; the two-variable forms of `all` and the like are in the standard macros. */
export const comprehensionsLibrary: Library = {
  name: 'comprehensions',
  overloads: [],
  macros: ['transformList', 'transformMap', 'transformMapEntry'],
}
