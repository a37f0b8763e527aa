/** The messages of errors for users: what was expected, what was found, and what to do. */

/** What the methods that register a handler expect. */
const registrations = {
  on: 'on(names, [options], handler) expects one or more event names and a function',
  onCall: 'onCall(options, handler) expects the options of a join and a function',
  fallback: 'fallback(handler) expects a function',
} as const;

/** What to do, as a further sentence. */
function also(fix: string | undefined): string {
  return fix === undefined ? '' : ` ${fix}`;
}

/** Each entry turns details into a message. */
export const problems = {
  option_invalid: (d: { option: string; expected: string; found: string; fix?: string | undefined }) =>
    `The option ${d.option} should be ${d.expected}, but is ${d.found}.${also(d.fix)}`,
  cursor_invalid: (d: { list: string; found: string }) =>
    `The option cursor in ${d.list} should be the cursor of another page, but is ${d.found}.`,
  option_unknown: (d: { option: string; where: string; meant: string | undefined; known: string }) =>
    `There is no option ${d.option} in ${d.where}.` +
    (d.meant !== undefined
      ? ` Did you mean ${d.meant}?`
      : d.known === ''
        ? ' It has no options.'
        : ` The options are: ${d.known}.`),
  credentials_missing: (d: { hasUndefinedSecrets: boolean; hasEmptyHeaders: boolean }) =>
    "A receiver needs a way to recognize the platform's deliveries, but " +
    (d.hasEmptyHeaders
      ? 'headers is an empty object, and secrets is not set'
      : 'neither secrets nor headers is set') +
    `${d.hasUndefinedSecrets ? ': secrets is given, but undefined. Is its environment variable set?' : '.'} ` +
    "Pass secrets with the subscription's signing secret (it starts with whsec_), or headers with the " +
    "subscription's own headers if it is unsigned.",
  secrets_missing: (d?: { fileOption: string }) =>
    `This command needs the subscription's signing secret, but neither ${d ? `${d.fileOption} nor ` : ''}` +
    'RINGBACK_SECRETS nor RINGBACK_SECRETS_FILE is set. Set RINGBACK_SECRETS to the secret that the platform ' +
    'returned when signing was enabled (it starts with whsec_), or ' +
    `${d ? `${d.fileOption} or ` : ''}RINGBACK_SECRETS_FILE to a file that holds it.`,
  secret_malformed: (d: {
    position: number;
    found: string;
    fix?: string | undefined;
    file?: string | undefined;
  }) =>
    `Secret ${d.position}${d.file === undefined ? '' : ` in the secrets file ${d.file}`} should be a signing secret ` +
    `that starts with whsec_ and has something after it, but it ${d.found}. ` +
    (d.fix ?? 'Copy the whole secret that the platform returned when signing was enabled.'),
  secrets_unavailable: (d: { cause: string; fix: string | undefined }) =>
    `The secrets function should return a secret or a list of secrets, but it failed: ${d.cause.replace(/\.$/, '')}.${also(d.fix)}`,
  handler_duplicate: (d: { name: string }) =>
    `A handler named "${d.name}" is already registered, and each handler needs a name of its own, because runs are ` +
    'stored under it. Give one of the two another name: on(names, { name: "…" }, handler).',
  handler_too_late: (d: { name: string }) =>
    `The handler "${d.name}" was registered after start(), when stored events may already have been ` +
    'dispatched without it. Register every handler before start().',
  handler_invalid: (d: { method: keyof typeof registrations; found: string; fix?: string }) =>
    `${registrations[d.method]}, but found ${d.found}.${also(d.fix)}`,
  event_name_unknown: (d: { method: 'on' | 'onCall'; eventName: string; meant: string }) =>
    `With strictNames, ${d.method} expects the names of known events, or names that are not similar to one, but found ` +
    `${JSON.stringify(d.eventName)}. Did you mean ${JSON.stringify(d.meant)}? If that really is the event's name, leave ` +
    'strictNames out.',
  provider_not_singleton: (d: { name: string }) =>
    `The provider ${d.name} has handlers, so the whole app should share one instance, but it or something that it injects ` +
    'has the scope REQUEST or TRANSIENT. Leave the scope out, or move the handlers to another provider.',
  nest_module_repeated: (d: { count: number }) =>
    `A Nest app should import RingbackModule once, but imports it ${d.count} times, and each of the receivers would run ` +
    'every decorated method. Import it once, in the root module.',
  fallback_duplicate: () =>
    'A fallback is already registered, and there can be only one. Combine the two functions into one.',
  receiver_started: (d?: { app: string }) =>
    d === undefined
      ? 'start() should be called once, but has been called before. Remove the second call, or await the first.'
      : `The app file ${d.app} should only register handlers, but it calls start(), and \`ringback serve\` starts ` +
        'the receiver. Leave start() out of the app file.',
  receiver_stopped: () =>
    'The receiver has been stopped and cannot be started again. Create a new one with createReceiver().',
  adapter_not_called: (d: { method: string }) =>
    `receiver.${d.method}() should be called once, where it is mounted, but it was mounted without being called. ` +
    `Write receiver.${d.method}(), with the parentheses.`,
  receiver_not_started: (d: { method: string }) =>
    `${d.method} should be called while the receiver runs, but it is not started or has been stopped. ` +
    'Call it after await receiver.start() and before receiver.stop().',
  bulk_action_left: (d: { id: number }) =>
    `The receiver was stopped before the replay or dismissal ${d.id} was finished. It continues when a receiver is started ` +
    'on this inbox. To end it instead, use events.stop(id), or ringback inbox stop.',
  handler_unknown: (d: {
    name: string;
    before: string;
    meant: string | undefined;
    known: string;
    fix: string | undefined;
  }) =>
    `The handler "${d.name}" should be registered before ${d.before}, but it is not.` +
    (d.meant === undefined
      ? ` The handlers are: ${d.known || 'none'}.${also(d.fix)}`
      : ` Did you mean "${d.meant}"?`),
  handler_registered: (d: { name: string; isHere: boolean }) =>
    `The handler "${d.name}" should be removed before its open runs are dismissed, but it is registered ` +
    `${d.isHere ? 'here' : 'in another process'} and will run them. To dismiss its dead letters, set state: 'dead'. To end ` +
    'its open runs, let it throw Discard, or remove it first.' +
    (d.isHere ? '' : ' To dismiss those of one event, name its trace id.'),
  agent_unknown: (d: { callId: string }) =>
    `The call ${d.callId} should name its agent, without which its analysis can't be read, but calls.get() returned no ` +
    'ai_agent_id. Return the agent together with the call: ids: () => [{ callId, agentId }].',
  call_id_invalid: (d: { found: string }) =>
    `ids in reconcile should return call ids (text of 1 to 512 characters), or objects with callId and agentId, but one is ` +
    `${d.found}. The other calls were processed. Leave it out of what ids returns, or return the id that the platform uses.`,
  call_differs: (d: { reader: string; callId: string; other: string }) =>
    `${d.reader} should return the call ${d.callId}, but its answer is about the call ${d.other}, so nothing was ` +
    'recorded from it. Check which id it requests, and whether anything between it and the platform, such as a cache, ' +
    'returns the wrong answer.',
  call_unreadable: (d: { callId: string; expected: string; found: string }) =>
    `calls.get() should return ${d.expected} for the call ${d.callId}, but ${d.found}, so nothing was ` +
    "recorded for it. Return the platform's answer unchanged, and look at it: its fields may have changed.",
  event_unknown: (d: { traceId: string; database: string }) =>
    `No event in ${d.database} has the trace id "${d.traceId}": it may have been removed when its retention ended. ` +
    'Search with ringback inbox events --call-id, or --since.',
  call_unknown: (d: { callId: string; database: string }) =>
    `No event in ${d.database} belongs to the call ${d.callId}: they may have been removed when their retention ended. ` +
    'Search with ringback inbox calls.',
  quarantine_cut: (d: { id: number; bytes: number; kept: number }) =>
    `Delivery ${d.id} in quarantine should have its whole body, so that its signature can be checked, but only the first ` +
    `${d.kept} of its ${d.bytes} bytes were kept, because it had no signature, or other large deliveries had arrived just ` +
    `before. Discard it with ringback inbox discard ${d.id}, or quarantine.discard(${d.id}). If the platform sent it, read ` +
    'what it reported from the platform.',
  quarantine_unknown: (d: { id: number }) =>
    `There is no delivery ${d.id} in quarantine: it may have been released, discarded or dropped. ` +
    'See ringback inbox quarantine, or quarantine.list().',
  release_not_authentic: (d: { id: number; reason: string; fix: string | undefined }) =>
    `The delivery ${d.id} should verify with the current secrets and schemes, as of its arrival, before it is ` +
    `released, but it does not: ${d.reason}. ${d.fix ?? 'Set the secret that signed it.'} If the platform did not send ` +
    'it, discard it.',
  release_unreadable: (d: { id: number; reason: string }) =>
    `The delivery ${d.id} should be readable as an event before it is released, but it is not: ${d.reason}. ` +
    `Look at its body with ringback inbox delivery ${d.id}, or quarantine.get(${d.id}), then discard it.`,
  database_not_offered: (d: { database: string }) =>
    `receiver.database should be the connection of the inbox, but the store ${d.database} does not offer its own. ` +
    'Use a connection of your own for your tables.',
  database_closed: (d: { database: string }) =>
    `The database ${d.database} should be open when it is used, but the receiver has closed it. Use receiver.database ` +
    'before receiver.stop().',
  commit_ended: () =>
    'The database that ctx.commit passes to its function should be used only inside that function, but the function has ' +
    'ended, so nothing was done. Do everything inside it.',
  transaction_left_open: () =>
    "No transaction should be left open on the inbox's connection, but one was, so nothing can be stored safely. " +
    'Use receiver.database.transaction(() => { … }), and no begin, commit or rollback of your own.',
  transaction_ended: (d: { isCommitted: boolean }) =>
    'The function given to ctx.commit should leave its transaction to Ringback, but has ' +
    (d.isCommitted
      ? 'committed it: what it wrote before that is kept, the run is recorded as done, and what it wrote afterwards was ' +
        'outside of it. '
      : 'ended it, so the run does not count as done. ') +
    'Use no begin, commit or rollback of your own; savepoints are fine.',
  commit_repeated: () =>
    'ctx.commit should be called once in a run, but this is the second call, and it wrote nothing. ' +
    'Write all effects in one call.',
  commit_not_a_function: (d: { found: string }) =>
    `ctx.commit expects a function that writes the effects, but found ${d.found}, so nothing was committed. ` +
    'Pass one: await ctx.commit((db) => { … }).',
  commit_asynchronous: () =>
    'On SQLite, ctx.commit expects a synchronous function, but this one returned a promise, so nothing was committed. ' +
    'Await what you need first, then write everything inside ctx.commit without await.',
  commit_too_late: () =>
    'ctx.commit should be called during the attempt, while this process holds the run, but the attempt has ended or ' +
    'another process has the run, so nothing was committed. Commit before the deadline and within the handler, and await it.',
  node_too_old: (d: { found: string }) =>
    `Ringback needs Node 22.14 or later (Node-API 10), but runs on Node ${d.found}, where its database ` +
    'driver would end the process. Install a current version of Node.',
  database_unreadable: (d: { database: string; cause: string; fix?: string | undefined }) =>
    `The database ${d.database} should be a SQLite file that this process can read and write, but: ${d.cause}. ` +
    (d.fix ?? 'Check the path and its permissions, or set another database.'),
  database_unreachable: (d: { database: string; cause: string; fix?: string }) =>
    `The database ${d.database} should accept connections that can read and write, but: ${d.cause}. ` +
    (d.fix ?? 'Check the URL, the user and its permissions, and that the server is running.'),
  database_version: (d: { database: string; oldest: number; found: string }) =>
    `The database ${d.database} should be of Postgres ${d.oldest} or later, but its server is Postgres ${d.found}. ` +
    'Upgrade the server, or set another database.',
  database_isolation: (d: { database: string; found: string }) =>
    `The database ${d.database} should have read committed as its default isolation level, but has ${d.found}, in which an ` +
    "event could be handled twice. Run alter role … in database … set default_transaction_isolation = 'read committed' for " +
    "the receiver's user, and remove the setting from the URL or the pool if it is there.",
  database_encoding: (d: { database: string; found: string }) =>
    `The database ${d.database} should have the encoding UTF8, but has ${d.found}, in which some deliveries could never be stored. ` +
    "Create another: create database … encoding 'UTF8' template template0.",
  inbox_missing: (d: { database: string }) =>
    `The database ${d.database} should hold an inbox, but no receiver has been started on that schema. Check the URL and its ` +
    'parameter schema, or start the receiver first.',
  inbox_in_use: (d: { database: string }) =>
    `No process may use ${d.database} while an inbox is moved, but one does, or did until a few seconds ago. Stop every ` +
    'receiver on it, close every other program that reads its file, and try again after ten seconds.',
  move_refused: (d: { from: string; to: string; found: string }) =>
    `The inbox of ${d.from} should be moved to an empty database, but ${d.to} ${d.found}. Nothing was changed. Use another ` +
    'file or another schema, or remove what is there if nobody needs it.',
  move_unfinished: (d: { database: string; from: string }) =>
    `The inbox in ${d.database} should be complete, but it is only a part of ${d.from}, because the move from there was not ` +
    'finished: duplicates of events that are not there yet would be taken for new events. Run the same ringback inbox move ' +
    'again, which continues where it stopped, and then start the receiver.',
  move_incomplete: (d: { from: string; to: string; differences: string }) =>
    `${d.to} should hold as much as ${d.from} after the move, but these counts differ: ${d.differences}. The source is ` +
    'unchanged. If a receiver was started on the new database, stop it, remove what is there, and move again.',
  backup_failed: (d: { to: string; cause: string; fix?: string | undefined }) =>
    `The copy of the inbox should be written to ${d.to}, but ${d.cause}. No part of the copy is left, and the inbox is unchanged. ` +
    (d.fix ?? 'Name a new file in a folder that you may write to.'),
  backtest_ended: (d: { how: string }) =>
    `The backtest should run until every event has been tried, but its process ended: ${d.how}. See the output of the app ` +
    'above, and make sure that neither a handler nor the app file ends the process.',
  network_refused: (d: { to: string }) =>
    `network refused in a backtest: ${d.to}. Replace what the app calls with a stub, or pass --allow-network.`,
  bundled: () =>
    'Ringback should run from its own files in node_modules, because it starts threads and its database driver loads a ' +
    'binary, but it is part of a bundle. Exclude it from the bundle, and install it where the bundle runs: in esbuild with ' +
    "external: ['ringback'], in webpack with externals: [/^ringback($|\\/)/] and externalsType: 'node-commonjs', in Next " +
    "with serverExternalPackages: ['ringback'].",
  package_missing: (d: { name: string; purpose: string }) =>
    `The package ${d.name}, which is needed for ${d.purpose}, is not installed: it does not come with Ringback, because ` +
    `most apps do not need it. Run npm install ${d.name}.`,
  database_full: (d: { database: string }) =>
    `The disk of the database ${d.database} should have space for what is to be written, but it is full. Free some space, ` +
    'then try again: what was stored is not lost.',
  database_replaced: (d: { database: string; found: string }) =>
    `The database ${d.database} should stay in its place while a process has it open, but ${d.found}. Nothing more is ` +
    'stored, because it would be lost at a restart. Stop this process, put the right files in place, and start it again.',
  row_damaged: (d: { column: string; row: string }) =>
    `The column ${d.column} should hold JSON, but does not in the row where ${d.row}: the database was edited by hand, or ` +
    "its disk is damaged. Restore the value from a backup, or set it to '{}'.",
  database_foreign: (d: { database: string; found: string }) =>
    `The database ${d.database} should be a new file or an inbox, but it ${d.found}. Give the inbox a file of its own, ` +
    'and create the tables that your handlers write to in that file, with receiver.database.',
  database_newer: (d: { database: string; found: number; expected: number }) =>
    `The database ${d.database} has schema version ${d.found}, but this version of Ringback supports versions up to ` +
    `${d.expected}: a newer version wrote it. Run that version or a later one, or use another database.`,
  port_in_use: (d: { host: string; port: number }) =>
    `The server can't listen on ${d.host}:${d.port}, because that port is in use. ` +
    'Stop the other process, or choose another port (--port, or the option port).',
  listen_failed: (d: { host: string; port: number; cause: string }) =>
    `The server can't listen on ${d.host}:${d.port}: ${d.cause}. ` +
    'Check the host and the port: --host and --port, or their environment variables.',
  app_unloadable: (d: { file: string; cause: string }) =>
    `The app file ${d.file} should be a JavaScript or TypeScript module that loads, but: ${d.cause}. ` +
    'Check the path, then the module itself.',
  app_no_default: (d: { file: string; found: string }) =>
    `The app file ${d.file} should have a default export of the form (receiver) => void, but ${d.found}. ` +
    'Write: export default (receiver) => { receiver.on(…) }.',
  secrets_file_unreadable: (d: { file: string; cause: string }) =>
    `The secrets file ${d.file} should hold one signing secret per line (or separated by commas), but: ` +
    `${d.cause}. Check the path, that this process may read the file, and that the secret is in it.`,
  fixture_unknown: (d: { fixture: string; isFile: boolean; meant: string | undefined; known: string }) =>
    (d.isFile
      ? `${d.fixture} should be a fixture's name or a JSON file, but it is neither.`
      : `${d.fixture} should be a fixture's name, but there is no such fixture. To send a file, pass its parsed JSON.`) +
    (d.meant === undefined ? ` The fixtures are: ${d.known}.` : ` Did you mean ${d.meant}?`),
  delivery_unsent: (d: { url: string; cause: string; fix?: string | undefined }) =>
    `The delivery could not be sent to ${d.url}: ${d.cause}. ${d.fix ?? 'Check that a receiver listens there.'}`,
  seed_invalid: (d: { place: string; expected: string; found?: string }) =>
    `In the seed, ${d.place} should be ${d.expected}, but is ${d.found ?? 'not'}. The format of a seed is described in ` +
    'docs/sandbox.md and schemas/sandbox-seed.schema.json.',
  seed_unreadable: (d: { file: string; cause: string }) =>
    `The seed file ${d.file} should be a JSON file that this process can read, but: ${d.cause}. ` +
    'Check the path and the file. The format of a seed is described in docs/sandbox.md.',
  sandbox_not_running: (d: { method: string }) =>
    `${d.method} should be used while the sandbox runs, but it is not started or has been stopped. ` +
    'Use it after await sandbox.start() and before sandbox.stop().',
  sandbox_started: () =>
    'start() should be called once on a sandbox, but has been called before. Create another with createSandbox().',
  tool_unregistered: (d: { agentId: string; toolId: string }) =>
    `The agent "${d.agentId}" has no custom tool "${d.toolId}". ` +
    "Register it with the client's customTools.create(), and compare both ids.",
  capture_unreadable: (d: { file: string; cause: string }) =>
    `The captured request ${d.file} should be a file with the request line, the headers, a blank line and the exact ` +
    `bytes of the body, but: ${d.cause}. Save the request exactly as it was sent.`,
  body_unreadable: (d: { file: string; cause: string }) =>
    `The file ${d.file} should hold the body to sign, but: ${d.cause}. Check the path and its permissions.`,
  condition_not_met: (d: { waited: number; state: string; fix?: string | undefined }) =>
    `The event should have been handled within ${d.waited} ms, but ${d.state.replace(/\.$/, '')}. ` +
    (d.fix ?? "Check what the handler waits for, or allow more time, for example with { within: '10s' }."),
  update_unsafe: (d: { cause: string; fix: string }) =>
    'An update should send every field back, because the platform clears the others, but ' +
    `${d.cause}. Nothing was changed. ${d.fix}`,
  secret_file_unwritable: (d: { file: string; cause: string }) =>
    `The file ${d.file} should be ready for a new signing secret, but: ${d.cause}. Nothing was requested from the ` +
    'platform. Check the path, and that this process may write the file and its folder.',
  secret_not_kept: (d: { cause: string }) =>
    `The platform has issued a new signing secret, which it shows only once, but it could not be saved: ${d.cause}. ` +
    'The secret is in error.secret.reveal(): store it now, or rotate it once the cause is fixed.',
  secret_nested: (d: { subscriptionId: string }) =>
    `onSecret should return before another secret is requested with an onSecret for the subscription ${d.subscriptionId}, but ` +
    'it requests one itself, and the two would wait for each other forever. Request that secret once the operation has ' +
    'resolved, or leave out onSecret: the secret is in the result.',
} as const;

/** The code of a problem, for programs; the message is for people. */
export type ProblemCode = keyof typeof problems;
