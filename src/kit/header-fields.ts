/** What a header's name and value may be, and which headers say nothing about who sends them. */

/** What can be the name of a header (RFC 9110, 5.1). */
export const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** A value that arrives as it was written: no control characters, no blanks at the ends. */
export const headerValue = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * What any client sends, what proxies add, and what every delivery of the platform has (platform document, Delivery
 * rules): none of it is secret, so whoever sends JSON would pass for the platform.
 */
const ordinary =
  /^(?:accept|accept-.+|connection|content-.+|forwarded|host|origin|referer|te|transfer-encoding|user-agent|via|x-forwarded-.+|x-real-ip|x-webhook-.+)$/i;

/** Whether at least one of the names is of a header whose value only the platform was told. */
export function hasOwnHeader(names: Iterable<string>): boolean {
  return [...names].some((name) => !ordinary.test(name));
}
