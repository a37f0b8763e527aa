/** A body with its headers. */
import { useMemo } from 'preact/hooks';
import { useAccess } from '../api/access.ts';
import { get } from '../api/client.ts';
import { LongText } from './long-text.tsx';
import { OnRequest } from './on-request.tsx';
import { Fact, Facts } from './text.tsx';

interface Content {
  /** The bytes of an event, in base64; those of a delivery in quarantine are its body. */
  readonly raw?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
}

export function Body({ path }: { readonly path: string }) {
  if (!useAccess().mayDo('bodies')) return null;
  const load = (signal: AbortSignal) => get<Content>(`${path}?body=true`, signal);
  return (
    <OnRequest title="Body and headers" what="body" load={load}>
      {(content) => (
        <>
          <Text text={fromBase64(content.raw ?? String(content.body))} />
          <Facts>
            {Object.entries(content.headers ?? {}).map(([name, value]) => {
              const text = Array.isArray(value) ? value.join(', ') : String(value);
              return (
                <Fact key={name} name={name} isLong={text.length > 56}>
                  <code dir="auto">{text}</code>
                </Fact>
              );
            })}
          </Facts>
        </>
      )}
    </OnRequest>
  );
}

/** The text as it arrived, and indented if that is all that changes. */
function Text({ text }: { readonly text: string }) {
  const indented = useMemo(() => indentedFrom(text), [text]);
  return (
    <>
      <LongText label="The body" text={text} />
      {indented !== undefined && (
        <details>
          <summary>Indented</summary>
          <LongText label="Indented" text={indented} />
        </details>
      )}
    </>
  );
}

/** How deeply nested a body may be to be indented: with half a million values, the spaces alone could exceed the longest string. */
const deepest = 20;

/** Undefined if it isn't JSON, or if JavaScript would write it differently: with other digits, for example. */
function indentedFrom(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value) !== text || isDeeper(value, deepest)) return undefined;
    return JSON.stringify(value, undefined, 2);
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The bytes as text, unchanged: reformatted JSON would lose digits and spaces, which a signature depends on. */
function fromBase64(encoded: string): string {
  const bytes = Uint8Array.from(atob(encoded), (character) => character.codePointAt(0) ?? 0);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
