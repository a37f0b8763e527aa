/** A collector that takes OTLP over HTTP, as the SDK sends it. */
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { testDatabase } from '../support/postgres.ts';
import { listening } from '../support/servers.ts';

export const handlingProcess = fileURLToPath(new URL('./handling-process.ts', import.meta.url));

/** A span as a collector gets it. */
export interface Collected {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Export {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly Collected[] }[];
  }[];
}

/** Listens until the test ends. `named` resolves to the spans of a name once there are so many. */
export async function startedCollector() {
  const spans: Collected[] = [];
  const port = await listening((request, response) => {
    void json(request).then((body) => {
      for (const { scopeSpans } of (body as Export).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans);
      return response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const named = async (name: string, count = 1) => {
    await expect.poll(() => spans.filter((span) => span.name === name).length).toBeGreaterThanOrEqual(count);
    return spans.filter((span) => span.name === name);
  };
  return { url: `http://127.0.0.1:${port}/v1/traces`, spans, named };
}

export function attributesOf({ attributes }: Collected): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** The URL of an inbox in an empty schema. */
export async function urlOfInbox(): Promise<string> {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('schema', schema);
  return url.href;
}
