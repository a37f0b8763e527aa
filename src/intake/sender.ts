import { networkOf } from '../kit/addresses.ts';
import { type TrustProxy, clientAddress, trustNobody } from '../kit/trust-proxy.ts';
import type { Delivery } from '../events/model.ts';

/**
 * Who sends a delivery, for what each sender may take: the socket's peer, or the client that a trusted proxy names. It
 * is no proof of anything. The same name for all where there is no peer, as in `receiver.fetch` without one.
 */
export function senderOf(delivery: Delivery, trustProxy: TrustProxy | undefined): string {
  const { peerAddress = '', headers, appTrustProxy } = delivery;
  return networkOf(clientAddress(peerAddress, headers, trustProxy ?? appTrustProxy ?? trustNobody));
}
