import { describe, expect, it } from 'vitest';
import * as ringback from '../../src/index.ts';
import * as platform from '../../src/platform/index.ts';
import * as sandbox from '../../src/sandbox/index.ts';
import * as testing from '../../src/testing/index.ts';

describe('the public names', () => {
  it('of ringback are these, and nothing else is public', () => {
    expect(Object.keys(ringback).sort()).toMatchInlineSnapshot(`
      [
        "ConfigError",
        "Discard",
        "Receiver",
        "RetryLater",
        "RingbackError",
        "Unconfirmed",
        "createReceiver",
        "describeLayout",
        "eventNames",
        "isKnownEvent",
        "sign",
        "verify",
      ]
    `);
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

  it('of ringback/sandbox are these', () => {
    expect(Object.keys(sandbox).sort()).toMatchInlineSnapshot(`
      [
        "createSandbox",
      ]
    `);
  });
});
