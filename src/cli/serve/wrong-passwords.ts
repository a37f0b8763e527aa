import { networkOf } from '../../kit/addresses.ts';
import type { Clock } from '../../kit/clock.ts';
import { Allowance } from '../../kit/limiters.ts';
import { type TrustProxy, clientAddress } from '../../kit/trust-proxy.ts';
import type { IncomingMessage } from 'node:http';

/** How many wrong passwords a network can try: a browser with a former password sends some for each view. */
const allowed = { atOnce: 30, perSecond: 1 };
/** For how many networks they are counted; beyond that, those of the longest known one are forgotten. */
const maxNetworks = 10_000;

export class WrongPasswords {
  readonly #clock: Clock;
  readonly #trustProxy: TrustProxy;
  readonly #byNetwork = new Map<string, Allowance>();

  constructor(clock: Clock, trustProxy: TrustProxy) {
    this.#clock = clock;
    this.#trustProxy = trustProxy;
  }

  /** Whether no password of this client may be checked now, not even the right one. */
  areTooMany(request: IncomingMessage): boolean {
    return this.#byNetwork.get(this.#networkOf(request))?.take(0) === false;
  }

  count(request: IncomingMessage): void {
    const network = this.#networkOf(request);
    const allowance = this.#byNetwork.get(network) ?? new Allowance(this.#clock, allowed);
    allowance.take(1);
    this.#byNetwork.set(network, allowance);
    const [oldest = network] = this.#byNetwork.keys();
    if (this.#byNetwork.size > maxNetworks) this.#byNetwork.delete(oldest);
  }

  #networkOf({ socket, headers }: IncomingMessage): string {
    return networkOf(clientAddress(socket.remoteAddress ?? '', headers, this.#trustProxy));
  }
}
