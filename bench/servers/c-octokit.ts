/** (c) Express with @octokit/webhooks, which verifies and dispatches in memory and stores nothing. */
import { createServer } from 'node:http';
import { Webhooks } from '@octokit/webhooks';
import express from 'express';
import { secret, serve } from './common.ts';

const webhooks = new Webhooks({ secret });
webhooks.onAny(() => {});

const app = express();
app.post('/hook', express.raw({ type: () => true, inflate: false }), async (request, response) => {
  const body = (request.body as Buffer).toString('utf8');
  const signature = request.get('x-webhook-signature') ?? '';
  const id = request.get('x-webhook-traceid') ?? '';
  await webhooks.verifyAndReceive({ id, name: 'ping', payload: body, signature });
  response.json({ status: 'accepted' });
});
serve(createServer(app));
