import { z } from 'zod';
import { defineTool } from '../../src/platform/index.ts';

/** A tool that the tests of registrations share. */
export const findOrder = defineTool({
  name: 'find_order',
  description: 'Looks up the state of an order.',
  parameters: z.object({ order_number: z.string().describe('The number on the invoice') }),
  run: () => ({ status: 'sent' }),
  messages: { start: 'One moment.' },
});
