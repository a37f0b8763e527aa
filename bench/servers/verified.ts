import { type Server, createServer } from 'node:http';
import { Webhooks } from '@octokit/webhooks';
import express from 'express';
import { z } from 'zod';
import { secret } from './common.ts';

const envelope = z.looseObject({
  traceId: z.string(),
  eventName: z.string(),
  payload: z.looseObject({ call_id: z.string() }),
});

/** A delivery with a valid signature. */
export interface Delivery {
  readonly event: z.infer<typeof envelope>;
  readonly body: Buffer;
}

/** Stores a delivery. Resolves when it may be answered, to whether it is new. */
export type Keep = (delivery: Delivery) => Promise<boolean>;

/** What users write in front of a store of events: Express, @octokit/webhooks to verify, and zod to parse. */
export function verifiedServer(keep: Keep): Server {
  const webhooks = new Webhooks({ secret });
  const app = express();
  app.post('/hook', express.raw({ type: () => true, inflate: false }), async (request, response) => {
    const body = request.body as Buffer;
    const text = body.toString('utf8');
    if (!(await webhooks.verify(text, request.get('x-webhook-signature') ?? ''))) {
      response.status(401).end();
      return;
    }
    const isNew = await keep({ event: envelope.parse(JSON.parse(text)), body });
    response.json({ status: isNew ? 'accepted' : 'duplicate' });
  });
  return createServer(app);
}
