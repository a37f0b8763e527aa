// @module-tag long
/** What an editor suggests while somebody registers a handler, as TypeScript's own service for editors answers it. */
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { root } from '../docs/documents.ts';

const known = [
  'CallHandler.CallStarted',
  'CallHandler.CallEnded',
  'CallHandler.CallTransferred',
  'callAnalysis.pcaCompleted',
];

test('an editor suggests the known event names, alone and in a list', () => {
  const suggestions = suggested(`
    import { createReceiver } from '${join(root, 'src/index.ts')}';
    import { On } from '${join(root, 'src/nest/index.ts')}';
    const receiver = createReceiver({ secrets: 'whsec_a' });
    receiver.on('§', () => {});
    receiver.on(['§'], { name: 'first' }, () => {});
    receiver.on(['CallHandler.CallEnded', '§'], () => {});
    receiver.onCall({ name: 'join', events: ['§'], within: '1m' }, () => {});
    On(['§']);
  `);
  expect(suggestions).toEqual(Array.from({ length: 5 }, () => expect.arrayContaining(known)));
});

/** What is suggested at each § of a file. */
function suggested(text: string): readonly (readonly string[])[] {
  const file = join(root, 'test/package/suggestions.ts');
  const config = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)).config,
    ts.sys,
    root,
  );
  const written = text.replaceAll('§', '');
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => config.options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const source = path === file ? written : ts.sys.readFile(path);
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
  };
  const service = ts.createLanguageService(host);
  const places = [...text.matchAll(/§/g)].map(({ index }, before) => index - before);
  return places.map((place) =>
    (service.getCompletionsAtPosition(file, place, {})?.entries ?? []).map(({ name }) => name),
  );
}
