/** Why a website can't be looked at: it is not on this machine, or it gives no answer. */
export class WebsiteProblem extends Error {
  readonly kind: 'not_loopback' | 'unreachable';

  constructor(kind: WebsiteProblem['kind']) {
    super(kind);
    this.kind = kind;
  }
}
