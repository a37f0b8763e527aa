import { z } from 'zod';
import type { KnowledgeBases } from '../knowledge-bases/knowledge-bases.ts';
import { ApiError, type Route } from './route.ts';
import { validated } from './validation.ts';

/**
 * The document has a 422 for this operation and says of a malformed id that it is not found. So what is not valid
 * can only be more than an id: a choice of the sandbox, in characters.
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
        // One sentence for missing, malformed and another tenant's: who asks must not learn which ids exist.
        if (!knowledgeBase) throw new ApiError('not_found', 'Knowledge base not found');
        return { status: 200, body: knowledgeBase };
      },
    },
  ];
}
