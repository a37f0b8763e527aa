import { z } from 'zod';
import { checked } from '../../option-problems.ts';

const largestPage = 100;

/**
 * The query of every list: `page_size`, which is required, and `page_token`, which the page before gave
 * (docs/sandbox.md). Its output is the size of the page, and the position that the page begins after.
 */
export const pageSchema = z
  .object({
    page_size: checked(`Should be a whole number from 1 to ${largestPage}, once`, readSize),
    page_token: checked('Should be the next_page_token of another page, once', readToken).optional(),
  })
  .transform(({ page_size: size, page_token: after = 0 }) => ({ size, after }));

/** The token for the page after this position. It is opaque to clients. */
export function tokenAfter(position: number): string {
  return Buffer.from(`after:${position}`).toString('base64url');
}

function readSize(value: unknown): number | undefined {
  const size = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  return size >= 1 && size <= largestPage ? size : undefined;
}

function readToken(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const [, position] = /^after:(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  return position === undefined ? undefined : Number(position);
}
