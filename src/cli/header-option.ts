import { Option } from 'commander';
import { configError } from '../errors/errors.ts';
import { headerName, headerValue } from '../kit/header-fields.ts';
import { asUsage } from './failure.ts';

/** What the HTTP client sets itself, replaces, or refuses to send. */
const ofTheClient =
  /^(?:__proto__|connection|content-length|expect|host|keep-alive|sec-.*|te|trailer|transfer-encoding|upgrade)$/;

/** An option that can be given several times, each with a header to send. Of headers with one name, the last is sent. */
export function headerOption(): Option {
  return new Option(
    '--header <header>',
    'a header to add or to replace, such as a proxy adds (several times)',
  )
    .default({}, 'none')
    .argParser((text, earlier: Readonly<Record<string, string>>) =>
      asUsage(() => ({ ...earlier, ...readHeader(text) })),
    );
}

/** @throws ConfigError `option_invalid`, which doesn't quote the value: it may be a credential */
function readHeader(text: string): Readonly<Record<string, string>> {
  const colon = text.indexOf(':');
  const name = text.slice(0, Math.max(colon, 0)).toLowerCase();
  const value = text.slice(colon + 1).trim();
  if (!headerName.test(name))
    throw invalid("a name, a colon and a value, such as 'X-Forwarded-Proto: https'", 'something else');
  if (ofTheClient.test(name))
    throw invalid('a header that can be chosen', `${name}, which the HTTP client sets itself`);
  if (!headerValue.test(value))
    throw invalid('a header whose value is ASCII text', `${name} with another value, or none`);
  return { [name]: value };
}

function invalid(expected: string, found: string): Error {
  return configError('option_invalid', { option: '--header', expected, found });
}
