/** What the files for containers set must be variables that the command reads. */
import { describe, expect, test } from 'vitest';
import { literal, read, tableRows } from '../docs/documents.ts';

const variables = new Set(
  tableRows('docs/command.md', 'option of `serve`').map(([, variable]) => literal(variable)),
);

describe.each(['examples/containers/Dockerfile', 'examples/containers/compose.yaml', 'docs/recipes.md'])(
  '%s',
  (file) => {
    const text = read(file);

    test('sets variables of `ringback serve`, and lets it listen where others reach it', () => {
      const named = [...text.matchAll(/\bRINGBACK_[A-Z_]+/g)].map(([name]) => name);
      expect(named.length).toBeGreaterThan(1);
      expect(named.filter((name) => !variables.has(name))).toEqual([]);
    });

    test('starts the command itself, so that the signal to end reaches it', () => {
      expect(text).not.toMatch(/^CMD .*\b(npm|npx)\b/m);
    });
  },
);

test.each(['examples/containers/Dockerfile', 'docs/deployment.md'])(
  'the image of %s is made without a compiler, which it lacks',
  (file) => {
    const installs = [...read(file).matchAll(/^RUN npm .*$/gm)].map(([line]) => line);
    expect(installs).toEqual(['RUN npm ci --omit=dev --ignore-scripts']);
  },
);
