import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ringbackError } from '../errors/errors.ts';
import { isRecord } from '../kit/values.ts';
import { closest } from '../errors/closest-name.ts';
import { ownFile } from '../kit/files.ts';

/** A recorded delivery without its signature, which is made when it is sent. */
export interface Fixture {
  readonly name: string;
  /** A sentence about it. */
  readonly description: string;
  /** The headers that the platform sent with it, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const folder = ownFile('../../fixtures/', import.meta.url);

/**
 * The names of the fixtures that come with Ringback, in alphabetical order.
 *
 * @example for (const name of fixtureNames()) await deliver(receiver, buildDelivery(name));
 */
export function fixtureNames(): readonly string[] {
  return readdirSync(fileURLToPath(folder))
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .sort();
}

/**
 * A fixture by its name: a delivery as the platform sends it, or might send it.
 *
 * @throws RingbackError `fixture_unknown`, with the closest name or all names
 * @example const { body, headers } = fixture('call-ended');
 */
export function fixture(name: string): Fixture {
  const names = fixtureNames();
  // Looked up in the list, so that no name can lead outside the folder.
  if (!names.includes(name)) throw unknownFixture(name);
  const text = readFileSync(new URL(`${name}.json`, folder), 'utf8');
  const read = readFixture(name, JSON.parse(text));
  if (!read) throw unknownFixture(name);
  return read;
}

/** A fixture from the JSON of its file. Undefined if the file doesn't have the form of a fixture's. */
export function readFixture(name: string, value: unknown): Fixture | undefined {
  if (!isRecord(value) || !isTextRecord(value['headers'])) return undefined;
  const { description, headers } = value;
  const body = bytesIn(value);
  if (body === undefined) return undefined;
  return { name, description: typeof description === 'string' ? description : '', headers, body };
}

/** A body given as text is from `ringback inbox delivery`: a body in quarantine, which may not be JSON. */
function bytesIn({ body, rawBody, bodyBase64 }: Readonly<Record<string, unknown>>): Buffer | undefined {
  if (typeof bodyBase64 === 'string') return Buffer.from(bodyBase64, 'base64');
  const text = [rawBody, body].find((value) => typeof value === 'string') ?? JSON.stringify(body);
  return text === undefined ? undefined : Buffer.from(text);
}

/** The error for an unknown name. `isFile`: whether the path of a file would be accepted, too. */
export function unknownFixture(name: string, isFile = false) {
  const names = fixtureNames();
  return ringbackError('fixture_unknown', {
    fixture: name,
    isFile,
    meant: closest(name, names),
    known: names.join(', '),
  });
}

function isTextRecord(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === 'string');
}
