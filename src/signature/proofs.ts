/**
 * What a signature proves, as opposed to how it is written. Anybody who holds a genuine delivery can rewrite its
 * signature in another encoding, syntax or header without knowing the secret. So how it is written proves nothing; the
 * signed content, the key and the hash do.
 */
import type { Scheme } from '../events/model.ts';
import { prepareScheme } from './content.ts';
import type { PreparedScheme } from './content.ts';
import { knownSchemes } from './schemes.ts';

/**
 * What a signature in this scheme proves, as a key to compare. A signed time is the same proof in the signature's own
 * header and in another one: the signed bytes are the same, and so is the time that is checked.
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

/** Whether a signature in one scheme can be rewritten as one in the other. */
export function isSameProof(left: Scheme, right: Scheme): boolean {
  return proofOf(left) === proofOf(right);
}
