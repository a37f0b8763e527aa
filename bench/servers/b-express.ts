/** (b) Express with express.raw() and res.json(): it verifies, parses and stores nothing. */
import { createServer } from 'node:http';
import express from 'express';
import { serve } from './common.ts';

const app = express();
app.post('/hook', express.raw({ type: () => true, inflate: false }), (_request, response) => {
  response.json({ status: 'accepted' });
});
serve(createServer(app));
