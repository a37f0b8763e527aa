import { describe, expect, it } from 'vitest';
import { isKnownEventName, knownEventNames, matches } from '../../src/events/names.ts';

describe('matches', () => {
  it.each([
    ['CallHandler.CallEnded', 'CallHandler.CallEnded', true],
    ['CallHandler.CallEnded', 'CallHandler.CallEndedAgain', false],
    ['CallHandler.CallEnded', 'callHandler.CallEnded', false],
    ['CallHandler.*', 'CallHandler.CallPaused', true],
    ['CallHandler.*', 'CallHandlers.CallEnded', false],
    ['CallHandler.*', 'callAnalysis.pcaCompleted', false],
    ['CallHandler.*', 'CallHandler', false],
    ['*', 'unknown', true],
    ['*.CallEnded', 'CallHandler.CallEnded', false],
    ['', '', true],
    ['', 'CallHandler.CallEnded', false],
  ])('%j and %j: %s', (pattern, eventName, expected) => {
    expect(matches(pattern, eventName)).toBe(expected);
  });
});

describe('the known names', () => {
  it('are the four of the document, in the case it gives', () => {
    expect(knownEventNames).toEqual([
      'CallHandler.CallStarted',
      'CallHandler.CallEnded',
      'CallHandler.CallTransferred',
      'callAnalysis.pcaCompleted',
    ]);
  });

  it('are not known in another case, or as names of Object.prototype', () => {
    expect(isKnownEventName('CallHandler.CallEnded')).toBe(true);
    expect(isKnownEventName('CallAnalysis.pcaCompleted')).toBe(false);
    expect(isKnownEventName('constructor')).toBe(false);
    expect(isKnownEventName('__proto__')).toBe(false);
  });
});
