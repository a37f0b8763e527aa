/** A body with its headers. */
import { useAccess } from '../api/access.ts';
import { get } from '../api/client.ts';
import { LongText } from './long-text.tsx';
import { OnRequest } from './on-request.tsx';
import { Fact, Facts } from './text.tsx';

interface Content {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, unknown>>;
}

export function Body({ path, isBase64 = false }: { readonly path: string; readonly isBase64?: boolean }) {
  if (!useAccess().mayDo('bodies')) return null;
  const load = async () => (await get<Content>(`${path}?body=true`))?.data;
  return (
    <OnRequest title="Body and headers" what="body" load={load}>
      {(content) => (
        <>
          <LongText
            label="The body"
            text={isBase64 ? fromBase64(String(content?.body)) : formatted(content?.body)}
          />
          <Facts>
            {Object.entries(content?.headers ?? {}).map(([name, value]) => (
              <Fact key={name} name={name}>
                <code dir="auto">{Array.isArray(value) ? value.join(', ') : String(value)}</code>
              </Fact>
            ))}
          </Facts>
        </>
      )}
    </OnRequest>
  );
}

/** How deeply nested a body may be to be indented. */
const deepest = 20;

/** Indents a body unless it is deep: with half a million values, the spaces alone could exceed the longest string. */
function formatted(body: unknown): string {
  return JSON.stringify(body, undefined, isDeeper(body, deepest) ? 0 : 2) ?? '';
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The bytes as text, unchanged: reformatted JSON would lose digits and spaces, which a signature depends on. */
function fromBase64(encoded: string): string {
  const bytes = Uint8Array.from(atob(encoded), (character) => character.codePointAt(0) ?? 0);
  return new TextDecoder().decode(bytes);
}
