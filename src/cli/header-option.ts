import { Option } from 'commander';
import { headerName, headerValue } from '../kit/header-fields.ts';
import { argument } from './argument.ts';

/** What belongs to the connection: the HTTP client sets it itself, or refuses to send it. */
const ofTheConnection =
  /^(?:connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;

const expectation =
  "a header such as 'X-Forwarded-Proto: https', and not one that the connection sets itself, such as Host";

/** An option that can be given several times, each with a header to send. */
export function headerOption(): Option {
  const read = argument(expectation, readHeader);
  return new Option(
    '--header <header>',
    'a header to add or to replace, such as a proxy adds (several times)',
  )
    .default({}, 'none')
    .argParser((text, earlier: Readonly<Record<string, string>>) => ({ ...earlier, ...read(text) }));
}

function readHeader(text: unknown): Readonly<Record<string, string>> | undefined {
  if (typeof text !== 'string') return undefined;
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0));
  const value = text.slice(colon + 1).trim();
  const isSendable = headerName.test(name) && !ofTheConnection.test(name) && headerValue.test(value);
  return isSendable ? { [name]: value } : undefined;
}
