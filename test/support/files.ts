import { execFileSync } from 'node:child_process';

const script = `
  const { existsSync, readFileSync } = require('node:fs');
  const [database, ...needles] = JSON.parse(process.argv[1]);
  const files = ['', '-wal', '-shm'].map((end) => database + end).filter((file) => existsSync(file));
  const contents = files.map((file) => readFileSync(file));
  console.log(JSON.stringify(needles.filter((needle) => contents.some((content) => content.includes(needle)))));
`;

/**
 * Which of these texts are anywhere in a database's files. Another process reads the files: a process that has the
 * database open loses SQLite's locks when it opens the same file itself and closes it again.
 */
export function foundInFiles(database: string, needles: readonly string[]): readonly string[] {
  const argument = JSON.stringify([database, ...needles]);
  const said = execFileSync(process.execPath, ['-e', script, argument], { encoding: 'utf8' });
  return JSON.parse(said) as string[];
}
