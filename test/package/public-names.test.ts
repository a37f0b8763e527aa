import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as fastify from '../../src/fastify/index.ts';
import * as ringback from '../../src/index.ts';
import * as nest from '../../src/nest/index.ts';
import * as platform from '../../src/platform/index.ts';
import * as sandbox from '../../src/sandbox/index.ts';
import * as store from '../../src/store/index.ts';
import * as testing from '../../src/testing/index.ts';

const source = join(import.meta.dirname, '../../src');

describe('the public names', () => {
  it('of ringback/store have every type of a store, so that users can write their own', () => {
    const index = readFileSync(join(source, 'store/index.ts'), 'utf8');
    const files = readdirSync(join(source, 'store')).filter(
      (file) => file.endsWith('.ts') && file !== 'index.ts',
    );
    const types = files.flatMap((file) =>
      [
        ...readFileSync(join(source, 'store', file), 'utf8').matchAll(/^export (?:interface|type) (\w+)/gm),
      ].map(([, name]) => name),
    );
    expect(types.length).toBeGreaterThan(40);
    expect(types.filter((name) => !new RegExp(`\\b${name}\\b`).test(index))).toEqual([]);
  });

  it('of ringback are these, and nothing else is public', () => {
    expect(Object.keys(ringback).sort()).toMatchInlineSnapshot(`
      [
        "ConfigError",
        "Discard",
        "Receiver",
        "RetryLater",
        "RingbackError",
        "createReceiver",
        "describeScheme",
        "eventNames",
        "isKnownEvent",
        "sign",
        "verify",
      ]
    `);
  });

  it('of ringback/store is one class', () => {
    expect(Object.keys(store)).toEqual(['Unconfirmed']);
  });

  it('of ringback/testing are these', () => {
    expect(Object.keys(testing).sort()).toMatchInlineSnapshot(`
      [
        "buildDelivery",
        "deliver",
        "deliverTo",
        "fixture",
        "fixtureNames",
        "handled",
        "manualClock",
        "testReceiver",
        "testSecret",
      ]
    `);
  });

  it('of ringback/platform are these', () => {
    expect(Object.keys(platform).sort()).toMatchInlineSnapshot(`
      [
        "IssuedSecret",
        "PlatformError",
        "SecretNotKeptError",
        "ToolError",
        "createPlatform",
        "defineTool",
        "readSecretFile",
        "toolMiddleware",
      ]
    `);
  });

  it('of ringback/fastify is one plugin', () => {
    expect(Object.keys(fastify)).toEqual(['receiverPlugin']);
  });

  it('of ringback/nest are these', () => {
    expect(Object.keys(nest).sort()).toEqual(['Fallback', 'On', 'OnCall', 'RingbackModule']);
  });

  it('of ringback/sandbox are these', () => {
    expect(Object.keys(sandbox).sort()).toMatchInlineSnapshot(`
      [
        "createSandbox",
      ]
    `);
  });
});
