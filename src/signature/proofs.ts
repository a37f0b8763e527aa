/**
 * What a signature proves, as opposed to how it is written. Whoever holds one genuine delivery can write its signature
 * in another encoding, syntax or header without knowing the secret. So the way it is written proves nothing; the
 * content that is signed, the key and the hash do.
 */
import type { Scheme } from '../events/model.ts';
import { prepareScheme } from './content.ts';
import type { PreparedScheme } from './content.ts';
import { knownSchemes } from './schemes.ts';

/**
 * What a signature in this scheme proves, as a key to compare. A signed time is the same proof whether it comes in the
 * signature's own header or in another one: the bytes that are signed are the same, and so is the time that is checked.
 */
export function proofOf({ content, key, hash }: Scheme): string {
  return [hash, key, content.replace('{t}', '{timestamp}')].join(' ');
}

/** The known schemes with the same proof as this one, which comes first. */
export function schemesWithProofOf(scheme: Scheme): readonly PreparedScheme[] {
  const others = [...knownSchemes.values()].filter((known) => known !== scheme && isSameProof(known, scheme));
  return [scheme, ...others].map(prepareScheme);
}

/** The known schemes with any other proof. */
export function schemesWithOtherProofs(scheme: Scheme): readonly PreparedScheme[] {
  return [...knownSchemes.values()].filter((known) => !isSameProof(known, scheme)).map(prepareScheme);
}

/** Whether the signatures of two schemes can be written as each other. */
export function isSameProof(left: Scheme, right: Scheme): boolean {
  return proofOf(left) === proofOf(right);
}
