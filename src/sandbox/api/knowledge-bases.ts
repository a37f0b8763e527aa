import { z } from 'zod';
import type { KnowledgeBases } from '../knowledge-bases/knowledge-bases.ts';
import { ApiError, type Route } from './route.ts';
import { validated } from './validation.ts';

/**
 * The document has a 422 for this operation, but says that a malformed id is answered as not found. The sandbox
 * therefore answers 422 only for an id that is longer than this, in characters: its own choice.
 */
const longestId = 256;

const pathSchema = z.object({
  kb_id: z.string().max(longestId, `Should have at most ${longestId} characters`),
});

/** The operation of knowledge bases that the document shows (platform document, GET knowledge base). */
export function knowledgeBaseRoutes(knowledgeBases: KnowledgeBases): readonly Route[] {
  return [
    {
      operation: 'knowledge-bases.get',
      method: 'GET',
      path: '/api/v1/knowledge-bases/:kb_id',
      errors: 'knowledge-base',
      handle: ({ caller, params }) => {
        const { kb_id: id } = validated(pathSchema, params, 'path');
        const knowledgeBase = knowledgeBases.find(caller, id);
        // The same answer for a missing, a malformed and another tenant's id: callers must not learn which ids exist.
        if (!knowledgeBase) throw new ApiError('not_found', 'Knowledge base not found');
        return { status: 200, body: knowledgeBase };
      },
    },
  ];
}
