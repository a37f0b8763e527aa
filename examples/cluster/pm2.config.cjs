/** For pm2 instead of `node app.ts`: pm2 is the primary process then. Run `pm2 start pm2.config.cjs`. */
module.exports = {
  apps: [
    {
      name: 'calls',
      script: './app.ts',
      // Otherwise pm2 takes Bun for a .ts file.
      interpreter: 'node',
      exec_mode: 'cluster',
      instances: 4,
      // The receiver gives active runs ten seconds. Without this, pm2 kills the worker after 1.6.
      kill_timeout: 20_000,
      // A new worker opens the inbox before it listens. Without this, a reload ends the old one after 3 s even if the
      // new one doesn't listen yet.
      listen_timeout: 60_000,
    },
  ],
};
