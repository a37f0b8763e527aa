import * as fc from 'fast-check';

/**
 * Any code point, also half of a surrogate pair. The unit `binary` of fast-check is about the same, but takes more than
 * a second of CPU to build in each process.
 */
export const anyCharacter = fc.nat({ max: 0x10_ff_ff }).map((codePoint) => String.fromCodePoint(codePoint));

export const anyText = fc.string({ unit: anyCharacter });
