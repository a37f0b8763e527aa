/**
 * What a signature proves, as opposed to how it is written. Whoever holds one genuine delivery can write its signature
 * in another encoding, syntax or header without knowing the secret. So the way it is written proves nothing; the
 * content that is signed, the key and the hash do.
 */
import type { Layout } from '../events/model.ts';
import { prepareLayout } from './content.ts';
import type { PreparedLayout } from './content.ts';
import { knownLayouts } from './layouts.ts';

/**
 * What a signature in this scheme proves, as a key to compare. A signed time is the same proof whether it comes in the
 * signature's own header or in another one: the bytes that are signed are the same, and so is the time that is checked.
 */
export function proofOf({ content, key, hash }: Layout): string {
  return [hash, key, content.replace('{t}', '{timestamp}')].join(' ');
}

/** The known schemes with the same proof as this one, which comes first. */
export function schemesWithProofOf(scheme: Layout): readonly PreparedLayout[] {
  const others = [...knownLayouts.values()].filter((known) => known !== scheme && isSameProof(known, scheme));
  return [scheme, ...others].map(prepareLayout);
}

/** The known schemes with any other proof. */
export function schemesWithOtherProofs(scheme: Layout): readonly PreparedLayout[] {
  return [...knownLayouts.values()].filter((known) => !isSameProof(known, scheme)).map(prepareLayout);
}

/** Whether the signatures of two schemes can be written as each other. */
export function isSameProof(left: Layout, right: Layout): boolean {
  return proofOf(left) === proofOf(right);
}
