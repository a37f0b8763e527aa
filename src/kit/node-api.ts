/** The Node-API version that the database driver is built for. */
const neededNodeApi = 10;

/** Whether the database driver can be loaded: on an older Node it would end the process without any message. */
export function hasNeededNodeApi(): boolean {
  return Number(process.versions['napi'] ?? 0) >= neededNodeApi;
}
