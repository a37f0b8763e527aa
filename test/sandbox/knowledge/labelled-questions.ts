/** A question as a user asks it, and where the project's documentation answers it. */
export interface LabelledQuestion {
  readonly question: string;
  readonly file: string;
  readonly heading: string;
}

const sectionsWithQuestions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'sandbox.md': {
    'The sandbox': ['Can I try everything on my laptop without signing up for an account?'],
    Failures: ['How do I make the fake server return a 429 so I can test my backoff?'],
    'The seed': ['I want my own users and api keys in the test server from the start, where do I put them?'],
    Calls: [
      'How can I simulate a call that gets handed over to a human?',
      'What makes two runs produce identical random calls?',
    ],
    Deliveries: ['How many webhooks are sent in parallel to one slow endpoint?'],
    'The adversary': ['Is there a way to send forged and repeated webhooks to see if my app survives?'],
    'Controls over HTTP': ['My tests are in Python, can I start a call with curl?'],
    Limits: ['Is it okay to expose the sandbox to the internet?'],
  },
  'platform.md': {
    Options: ['How long does the client wait before a request times out?'],
    'Changing a subscription': ['Will I lose the custom headers if I only change the name of my webhook?'],
    Ensure: ['How do I create the webhook only if it does not exist yet?'],
    'The secret': ['I forgot to save the signing key, can I see it again?'],
    'The file': ['What permissions does the file with the secrets have?'],
    'Rotation without a refused delivery': ['How do I change the signing key with no downtime?'],
    Retries: ['Which requests are tried again automatically after an error?'],
    'Recipe: store the findings of an analysis': [
      'How do I save the results of the post-call analysis into my own table?',
    ],
  },
  'lifecycle.md': {
    'The life of a delivery': ['Which steps does an incoming request go through before we say 200?'],
  },
  'replay.md': {
    'Dead letters': ['What happens to an event after the handler has failed for the last time?'],
    Replaying: ["I added a new handler today, how can it process last week's events?"],
    'Progress, stopping, restarts': ['Can I cancel a replay that is already going?'],
    Dismissing: ['Some failed events are no longer important, how do I get rid of them?'],
    Looking: ['How do I find all events of one phone call?'],
  },
  'retention.md': {
    Retention: ['How many days is customer data stored before it gets deleted?'],
    Erasure: ['A customer asks us to delete everything about their number, what do I run?'],
    'Gone from the files': ['Is deleted data really wiped from the disk?'],
    'When the disk is full or the database is locked': ['What if there is no space left on the server?'],
  },
  'quarantine.md': {
    'Recover from a rotated secret': [
      'All webhooks are suddenly rejected because somebody changed the key, can we still get them back?',
    ],
    'Limits on deliveries that are not authentic': [
      'Can an attacker fill up our storage with fake requests?',
    ],
    'Large deliveries that are not authentic': [
      'Why is only the first part of a big rejected request saved?',
    ],
  },
};

/** They were written from what the sections say, in other words where a user would have others, and not changed since. */
export const labelledQuestions: readonly LabelledQuestion[] = Object.entries(sectionsWithQuestions).flatMap(
  ([file, sections]) =>
    Object.entries(sections).flatMap(([heading, questions]) =>
      questions.map((question) => ({ question, file, heading })),
    ),
);
