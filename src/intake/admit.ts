import { Refusal, refusal } from '../errors/refusals.ts';
import { hostName, isAddressLiteral, networkOf } from '../kit/addresses.ts';
import { type TrustProxy, clientAddress, forwarded, listOf, trustNobody } from '../kit/trust-proxy.ts';
import type { RequiredHeaders } from '../kit/header-fields.ts';
import type { Delivery } from '../events/model.ts';

/** Which deliveries are let in. */
export interface Admission {
  readonly isHttpsRequired: boolean;
  /** The receiver's own setting. If undefined, the Express app's setting applies. */
  readonly trustProxy: TrustProxy | undefined;
  readonly hosts: readonly string[] | undefined;
  /** The subscription's own headers, if it has any. */
  readonly headers: RequiredHeaders | undefined;
}

/**
 * Checks HTTPS, host and the subscription's headers. Forwarded headers count only from a trusted peer. Plain HTTP is for
 * development on loopback, where the host may be anything, such as an IP address.
 */
export function admit(delivery: Delivery, admission: Admission): void {
  if (admission.isHttpsRequired && !delivery.encrypted) requireHttps(delivery, admission);
  if (admission.isHttpsRequired || admission.hosts) requireHost(delivery, admission);
  const header = admission.headers?.firstWrongIn(delivery.headers);
  if (header !== undefined) throw refusal('not_authentic', 'header_missing', { header });
}

function isPeerTrusted({ appTrustProxy, peerAddress }: Delivery, { trustProxy }: Admission): boolean {
  const trusts = trustProxy ?? appTrustProxy ?? trustNobody;
  return trusts(peerAddress ?? '', 0);
}

function requireHttps(delivery: Delivery, admission: Admission): void {
  const { headers, peerAddress: peer } = delivery;
  const protocols = [...listOf(headers['x-forwarded-proto']), ...forwarded(headers, 'proto')];
  const isTrusted = isPeerTrusted(delivery, admission);
  if (!protocols.includes('https')) throw notHttps(peer, isTrusted ? protocols : undefined);
  if (!isTrusted) throw refusal('https_required', 'proxy_not_trusted', { peer });
  // A proxy that passes on the client's own header beside its own proves nothing.
  if (protocols.some((protocol) => protocol !== 'https')) {
    throw refusal('https_required', 'https_contradicted', { peer });
  }
}

/** The refusal of plain HTTP. Behind a trusted proxy, its fix says what the proxy must change. */
function notHttps(peer: string | undefined, saidByProxy: readonly string[] | undefined): Refusal {
  if (saidByProxy === undefined) return refusal('https_required', 'not_https', { peer });
  if (saidByProxy.length === 0) return refusal('https_required', 'proxy_silent', { peer });
  return refusal('https_required', 'proxy_says_http', { peer });
}

function requireHost(delivery: Delivery, admission: Admission): void {
  const { headers } = delivery;
  const { hosts } = admission;
  const said = headers[':authority'] ?? headers['host'];
  const host = hostName(passedOnHost(delivery, admission) ?? listOf(said)[0] ?? '') ?? '';
  if (hosts) {
    if (!hosts.includes(host)) throw refusal('host_not_allowed', 'host_not_listed');
    return;
  }
  if (isAddressLiteral(host)) throw refusal('host_not_allowed', 'host_is_address');
}

/** The host that the sender asked for, as a trusted proxy reports it; undefined without such a proxy. */
function passedOnHost(delivery: Delivery, admission: Admission): string | undefined {
  const { headers } = delivery;
  if (headers['x-forwarded-host'] === undefined && headers['forwarded'] === undefined) return undefined;
  if (!isPeerTrusted(delivery, admission)) return undefined;
  return listOf(headers['x-forwarded-host'])[0] ?? forwarded(headers, 'host')[0];
}

/**
 * Names the sender of a delivery, to divide the bytes in flight among senders: the network of the socket's peer, or of
 * the client that a trusted proxy names. It proves nothing. Without a peer (`receiver.fetch`), all senders share one
 * name.
 */
export function senderOf(delivery: Delivery, trustProxy: TrustProxy | undefined): string {
  const { peerAddress = '', headers, appTrustProxy } = delivery;
  return networkOf(clientAddress(peerAddress, headers, trustProxy ?? appTrustProxy ?? trustNobody));
}
