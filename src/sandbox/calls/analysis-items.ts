import type { AnalysisItem } from './call.ts';
import type { Conversation } from './conversations.ts';

/**
 * The results of a conversation's analysis, as users of the platform have seen them: the result is a text whatever the
 * type, and a name is free text that may have stray blanks.
 */
export function analysisItemsOf({ summary, topics, unresolved }: Conversation): readonly AnalysisItem[] {
  return [
    {
      type: 'string',
      name: 'Summary ',
      description: 'What the call was about.',
      analysis_prompt: 'Summarize the call in one sentence.',
      result: summary,
    },
    {
      type: 'string',
      name: 'topics',
      description: 'What was talked about.',
      analysis_prompt: 'List the topics of the call.',
      result: topics.join(', '),
    },
    {
      type: 'boolean',
      name: 'resolved',
      description: 'Whether nothing was left open.',
      analysis_prompt: 'Was everything settled in the call?',
      result: String(unresolved.length === 0),
    },
    {
      type: 'number',
      name: 'open_issues',
      description: 'How many issues were left open.',
      analysis_prompt: 'How many issues were left open?',
      result: String(unresolved.length),
    },
  ];
}
