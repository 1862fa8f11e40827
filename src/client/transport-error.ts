/** No answer, or one that is not the API's: refused, cut off, HTML, half a line. Trying again may help. */
export class TransportError extends Error {
  override readonly name = 'TransportError'
}
