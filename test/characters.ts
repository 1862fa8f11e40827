import fc from 'fast-check'

/** Any code point, unpaired surrogates included, and often one of ASCII. fast-check's own unit `binary` takes seconds to make. */
export const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10_ffff }))
  .map((code) => String.fromCodePoint(code))
