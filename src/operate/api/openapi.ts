import { z } from 'zod';
import { actions } from './access.ts';
import { changesPath } from './changes.ts';
import { changeHeader } from './origin.ts';
import { results } from './results.ts';
import { type Route, actionsOf } from './route.ts';
import { routes } from './routes.ts';

/** What many operations have in common is described once, and referred to. */
const shared = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
const reference = (name: string) => shared('schemas', name);
const json = (schema: unknown) => ({ 'application/json': { schema } });

/** The API in OpenAPI 3.1, generated from the schemas that check its requests. */
export function openApiDocument(): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  paths[changesPath] = { get: changesOperation };
  return {
    openapi: '3.1.0',
    info: {
      title: 'The inbox of a Ringback receiver',
      version: '1',
      description:
        'Paths are relative to the path at which the app has mounted the API. The app decides who may use it. ' +
        `Every change, and every look at a body, needs the header ${changeHeader}. ` +
        'The ids . and .. are ~. and ~.. in a path, and an id of ~s before . or .. has one ~ more.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '.' }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(results).map(([name, schema]) => [name, plain(schema, 'output')]),
      ),
      parameters: { IfNoneMatch: ifNoneMatch },
      headers: { ETag: etag },
      responses: { NotModified: notModified, Problem: problem },
    },
  };
}

/** For pages that poll. */
const ifNoneMatch = {
  name: 'if-none-match',
  in: 'header',
  description:
    'The `etag` of an earlier answer: while nothing has changed, the answer is a 304 without a body.',
  schema: { type: 'string' },
};
const etag = { description: 'For `if-none-match`.', schema: { type: 'string' } };
const notModified = {
  description: 'Unchanged since the answer with that `etag`',
  headers: { etag: shared('headers', 'ETag') },
};
const problem = { description: 'What is wrong', content: json(reference('Error')) };

const changesOperation = {
  operationId: 'getChanges',
  summary: 'Which lists may have changed, as server-sent events',
  description:
    'Needs the action `look`. Each event is named `changed`, and its data is JSON such as `{"topics":["events"]}`. ' +
    'It is refused to pages of other origins. The stream ends after some minutes: connect again, as browsers do ' +
    'automatically.',
  responses: {
    200: {
      description: 'What may have changed',
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
    default: shared('responses', 'Problem'),
  },
};

function operation(route: Route): unknown {
  const { method, path, summary, query, body, result } = route;
  const needed = actionsOf(route).map((action) => `\`${action}\``);
  const id = /\{(\w+)\}/.exec(path)?.[1];
  return {
    operationId: operationId(method, path),
    summary,
    description:
      needed.length === 0
        ? 'For everybody whom `authorize` admits.'
        : `Needs the action ${needed.join(' or ')} of ${actions.join(', ')}.`,
    parameters: [
      ...(id === undefined ? [] : [{ name: id, in: 'path', required: true, schema: { type: 'string' } }]),
      ...(query ? parametersOf(query) : []),
      ...changeHeaderOf(route),
      ...(method === 'GET' ? [shared('parameters', 'IfNoneMatch')] : []),
    ],
    ...(body && { requestBody: bodyOf(body) }),
    responses: {
      200: {
        description: summary,
        content: json(reference(result)),
        ...(method === 'GET' && { headers: { etag: shared('headers', 'ETag') } }),
      },
      ...(method === 'GET' && { 304: shared('responses', 'NotModified') }),
      default: shared('responses', 'Problem'),
    },
  };
}

/** The header as a parameter, so that generated clients have it. */
function changeHeaderOf({ method, query }: Route): readonly unknown[] {
  const header = { name: changeHeader, in: 'header', schema: { type: 'string' } };
  if (method !== 'GET') return [{ ...header, required: true }];
  return query && 'body' in query.shape
    ? [{ ...header, description: 'With any value. Required if the body is requested.' }]
    : [];
}

function bodyOf(schema: z.ZodObject): unknown {
  const described = plain(schema, 'input');
  return { required: 'required' in described, content: json(described) };
}

function operationId(method: string, path: string): string {
  const words = path.split('/').filter((segment) => segment !== '' && !segment.startsWith('{'));
  const one = path.endsWith('}') ? 'One' : '';
  return [
    method.toLowerCase(),
    ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
    one,
  ].join('');
}

function parametersOf(query: z.ZodObject): readonly unknown[] {
  const { properties = {} } = plain(query, 'input') as {
    properties?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    ...(description !== undefined && { description }),
    schema: name === 'limit' ? { type: 'integer', minimum: 1, maximum: 1_000 } : schema,
  }));
}

function plain(schema: z.ZodType, io: 'input' | 'output'): Readonly<Record<string, unknown>> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
}
