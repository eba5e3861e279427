import fc from 'fast-check'

/**
 * Any code point but half a surrogate pair, as a `unit` of `fc.string`. What fast-check calls `binary` is the same, but takes
 * it a second of processor time to set up, or twenty on a busy machine.
 */
export const codePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((value) => String.fromCodePoint(value < 0xd800 ? value : value + 0x800))
