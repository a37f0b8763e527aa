import type { AnalysisItem, Message } from './call.ts';

/** A conversation of a call, with fictional people. */
export interface Conversation {
  readonly language: string;
  readonly topics: readonly string[];
  readonly actions: readonly string[];
  readonly summary: string;
  readonly transferReason: string;
  readonly unresolved: readonly string[];
  readonly messages: readonly [Message, ...Message[]];
}

const agent = (content: string): Message => ({ role: 'agent', content });
const user = (content: string): Message => ({ role: 'user', content });

/** The conversations of the simulator's calls. Some have multi-byte letters, as real ones do. */
export const conversations: readonly [Conversation, ...Conversation[]] = [
  {
    language: 'en-US',
    topics: ['delivery date', 'change of address'],
    actions: ['looked up the order', 'read out the delivery date'],
    summary: 'The caller asked when an order arrives and wants it sent to another address.',
    transferReason: 'the caller asked for a person',
    unresolved: ['address not changed yet'],
    messages: [
      agent('Hello, how can I help you?'),
      user('When does my order arrive? It has the number 4711.'),
      agent('It is on its way and should be with you on Thursday.'),
      user('I have moved. Can it go to my new address?'),
      agent('I cannot change the address of an order that is on its way, but a colleague can.'),
    ],
  },
  {
    language: 'en-GB',
    topics: ['appointment'],
    actions: ['offered three times', 'booked an appointment'],
    summary: 'The caller booked an appointment for a first consultation.',
    transferReason: 'the caller wants to talk to the consultant beforehand',
    unresolved: [],
    messages: [
      agent('Good morning, what can I do for you?'),
      user('I would like an appointment, please, as early as possible.'),
      agent('I can offer Monday at nine, Monday at eleven, or Tuesday at ten.'),
      user('Tuesday at ten.'),
      agent('Tuesday at ten it is. You will get a message in a moment.'),
    ],
  },
  {
    language: 'de-DE',
    topics: ['Rechnung', 'Rückerstattung'],
    actions: ['Rechnung gefunden', 'Betrag erklärt'],
    summary: 'Der Anrufer hat eine Rechnung doppelt bezahlt und möchte das Geld zurück.',
    transferReason: 'Rückerstattungen genehmigt die Buchhaltung',
    unresolved: ['Rückerstattung noch nicht genehmigt'],
    messages: [
      agent('Guten Tag, worum geht es?'),
      user('Ich habe die Rechnung für März zweimal überwiesen.'),
      agent('Ich sehe beide Zahlungen. Über die Rückerstattung entscheidet die Buchhaltung.'),
      user('Dann verbinden Sie mich bitte.'),
    ],
  },
  {
    language: 'es-ES',
    topics: ['avería', 'visita del técnico'],
    actions: ['avería registrada'],
    summary: 'La persona que llama tiene una avería y necesita la visita de un técnico mañana.',
    transferReason: 'la visita la confirma una persona',
    unresolved: ['hora de la visita'],
    messages: [
      agent('Buenos días, ¿en qué puedo ayudarle?'),
      user('La calefacción no funciona desde ayer 🥶.'),
      agent('Lo siento. He registrado la avería. ¿Puede venir un técnico mañana?'),
      user('Sí, por la mañana.'),
    ],
  },
];

/** The targets of transfers: a SIP address, a phone number from a range reserved for fiction, an extension. */
export const destinations: readonly [string, ...string[]] = [
  'sip:support@example.com',
  '+12025550143',
  '4021',
];

/**
 * The results of a conversation's analysis, as users of the platform have seen them: the result is text for every type,
 * and a name is free text that may have stray spaces.
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
