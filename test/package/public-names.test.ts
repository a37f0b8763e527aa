import { describe, expect, it } from 'vitest';
import * as ringback from '../../src/index.ts';
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
});
