/**
 * What the inbox and the sandbox's database share: the driver, and the marks in the header of their files (SQLite's
 * `application_id`), so that neither is taken for the other, nor for another program's.
 */

/** "RBin": the file is an inbox. */
export const inboxMark = 0x52_42_69_6e;

/** "RBsb": the file is a sandbox's. */
export const sandboxMark = 0x52_42_73_62;

/** The Node-API version that the database driver is built for. */
const neededNodeApi = 10;

/** Whether the database driver can be loaded. On an older Node it would silently end the process. */
export function hasNeededNodeApi(): boolean {
  return Number(process.versions['napi'] ?? 0) >= neededNodeApi;
}
