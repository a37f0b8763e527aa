interface Why {
  readonly what: string;
  readonly next: string;
}

const known: Readonly<Record<string, Why>> = {
  signature_missing: {
    what: 'It has no signature.',
    next: 'The sender did not sign it, or something in front of the receiver removes the header. If it was not the platform, discard it.',
  },
  signature_malformed: {
    what: 'Its signature is malformed.',
    next: 'Compare the header with the scheme that the platform signs in.',
  },
  signature_mismatch: {
    what: 'Its signature matches no secret of the receiver.',
    next: 'If the secret was rotated, give the receiver the new one and check again. If it is forged, discard it.',
  },
  timestamp_missing: {
    what: 'Its signature has no time.',
    next: 'Something in front of the receiver may remove a header.',
  },
  timestamp_unreadable: {
    what: 'The time of its signature cannot be read.',
    next: 'Compare the header with the scheme that the platform signs in.',
  },
  timestamp_out_of_tolerance: {
    what: 'It was signed too long ago, or in the future.',
    next: "Check the machine's clock. An old delivery that somebody sends again looks like this, too.",
  },
  empty: { what: 'Its body is empty.', next: 'Something in front of the receiver may have read the body.' },
  not_utf8: { what: 'Its body is not UTF-8.', next: 'Look at the body: it may have been compressed or cut.' },
  not_json: { what: 'Its body is not JSON.', next: 'Look at the body: it may have been changed on the way.' },
  not_an_object: { what: 'Its body is JSON, but not an object.', next: 'Look at the body.' },
  too_complex: {
    what: 'Its body has more values or fields, or is nested deeper, than the limits allow.',
    next: 'If it is an ordinary event, raise the limits of the receiver and release it.',
  },
};

export const reasons: readonly string[] = Object.keys(known);

/** Explains why a delivery is in quarantine, and what to do. */
export function whyOf(reason: string): Why {
  return known[reason] ?? { what: reason, next: 'Look at the body and the headers.' };
}
