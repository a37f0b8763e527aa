import { expect, test } from 'vitest';
import { fingerprintOf, withoutVariables } from '../../src/kit/error-text.ts';

test.each([
  ['the CRM is down', 'the CRM is down'],
  ['no customer "Anna Lang" in `crm`', 'no customer … in …'],
  ['GET https://crm.example.com/calls/17?x=1 answered 503', 'GET … answered …'],
  ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED …'],
  ['nobody is called anna.lang@example.com', 'nobody is called …'],
  ['call +4930123456 is unknown', 'call … is unknown'],
  ['no row 0f8b1c2d-1111-4222-8333-444455556666', 'no row …'],
  ['agent_7f3a has no seat', '… has no seat'],
  ['lines\nand\tspaces  too', 'lines and spaces too'],
  ["can't find it, so it isn't sent", "can't find it, so it isn't sent"],
  ['no customer "Anna La', 'no customer …'],
  ["no {'name': 'Anna La", 'no {…: …'],
])('%j is reported as %j', (message, general) => {
  expect(withoutVariables(message)).toBe(general);
});

test('a message is bounded, and takes a bounded time', () => {
  expect(withoutVariables('x'.repeat(1_000))).toHaveLength(200);
  expect(withoutVariables(`${'1-'.repeat(250)}"`)).toMatch(/…/);
});

test('a fingerprint keeps its parts apart', () => {
  const all = [
    fingerprintOf('a', 'b'),
    fingerprintOf('ab', ''),
    fingerprintOf('a', undefined),
    fingerprintOf('a', 'undefined'),
  ];
  expect(new Set(all).size).toBe(4);
  expect(fingerprintOf('a', 'b')).toBe(all[0]);
});
