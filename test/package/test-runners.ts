/** The test runners in which the packed package is tried, in each module kind that they have. */

/** How a test file begins, and how it is run. The path of the file or of its folder is appended to `command`. */
export interface Runner {
  readonly type: 'module' | 'commonjs';
  readonly head: string;
  readonly command: readonly string[];
  /** The frameworks that are not run so, with what the documents say instead. */
  readonly lacks?: Readonly<Record<string, string>>;
}

const imported = `
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import express from 'express';
import request from 'supertest';
import { buildDelivery, deliver, deliverTo, handled, testReceiver } from 'ringback/testing';
const load = (name) => import(name);
`;

const required = `
const assert = require('node:assert/strict');
const { once } = require('node:events');
const { createServer } = require('node:http');
const express = require('express');
const request = require('supertest');
const { buildDelivery, deliver, deliverTo, handled, testReceiver } = require('ringback/testing');
// What a package exports may be a function: an import has it as the default.
const load = async (name) => {
  const loaded = require(name);
  return typeof loaded === 'function' ? Object.assign(loaded, { default: loaded }) : loaded;
};
`;
// A framework is loaded within its test: on a busy machine that may take longer than the five seconds of the runners.
const testTimeout = '--testTimeout=600000';
const vitest = ['node_modules/vitest/vitest.mjs', 'run', testTimeout, '--root'];
const nodeTest = ['--test', '--test-reporter=tap'];
const flag = '--experimental-vm-modules';
const jest = (name: string) => [`node_modules/${name}/bin/jest.js`, testTimeout, '--rootDir'];

/** The runners, by the names that the documents give them. */
export const runners: Readonly<Record<string, Runner>> = {
  vitest: { type: 'module', head: `import { test } from 'vitest';${imported}`, command: vitest },
  'node:test': { type: 'module', head: `import test from 'node:test';${imported}`, command: nodeTest },
  'node:test, CommonJS': {
    type: 'commonjs',
    head: `const test = require('node:test');${required}`,
    command: nodeTest,
  },
  'Jest 30': { type: 'module', head: imported, command: [flag, ...jest('jest')] },
  // Nest 12 is an ES module, which Jest requires only with the flag, if at all.
  'Jest 30, CommonJS': {
    type: 'commonjs',
    head: required,
    command: jest('jest'),
    lacks: { Nest: 'with the flag' },
  },
  'Jest 29': { type: 'module', head: imported, command: [flag, ...jest('jest29')] },
  'Jest 29, CommonJS': {
    type: 'commonjs',
    head: required,
    command: jest('jest29'),
    lacks: { Nest: 'no' },
  },
};

/** For the frameworks that it lacks without. */
export const jestInCommonJsWithFlag: Runner = {
  type: 'commonjs',
  head: required,
  command: [flag, ...jest('jest')],
};
