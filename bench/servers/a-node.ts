/** (a) node:http, which only reads the body and answers. */
import { createServer } from 'node:http';
import { serve } from './common.ts';

const answer = JSON.stringify({ status: 'accepted' });

serve(
  createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on('data', (chunk: Uint8Array) => chunks.push(chunk));
    request.on('end', () => {
      Buffer.concat(chunks);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
      response.end(answer);
    });
  }),
);
