/** The statements about the service as a whole: its rules, authentication, errors, limits and versions. */
import type { Statement } from './statement.ts';

export const serviceStatements: readonly Statement[] = [
  ['SERVICE-1', 'It has knowledge bases, custom tools, prompts, website lookup, subscriptions and events'],
  ['SERVICE-2', 'Every operation is below one base address'],
  ['SERVICE-3', 'Requests and answers are JSON, with the media type application/json'],
  [
    'SERVICE-4',
    'Events tell that a call has started, ended or been transferred, and that its analysis is ready',
  ],
];

export const authenticationStatements: readonly Statement[] = [
  ['AUTH-1', 'Each request about knowledge bases has a token in Authorization, as Bearer'],
  ['AUTH-2', 'The token is all that a client shows of itself'],
  [
    'AUTH-3',
    "The caller's identity follows from the token, by a gateway that adds headers of its own behind it",
  ],
  ['AUTH-4', "A client never sends the gateway's headers"],
  ['AUTH-5', 'Requests about subscriptions have an API key in Authorization, as Bearer'],
  ['AUTH-6', 'The organization that owns a subscription follows from the key'],
  ['AUTH-7', 'Without a valid token, a request about a knowledge base gets a 401'],
  ['AUTH-8', 'Left open: how tools, prompts and website lookup are authenticated'],
  ['AUTH-9', 'Left open: how a key or token is issued'],
];

export const errorStatements: readonly Statement[] = [
  ['ERROR-1', "A knowledge base's error has a short code in the text error"],
  ['ERROR-2', "A knowledge base's error has an explanation for people in the text message"],
  ['ERROR-3', 'Of knowledge bases, 401 means that the token is missing or wrong'],
  ['ERROR-4', "Of knowledge bases, 404 means a missing or malformed id, or another tenant's"],
  ['ERROR-5', 'Of knowledge bases, 422 means an invalid request'],
  ['ERROR-6', 'Of knowledge bases, 503 means that the database fails'],
  ['ERROR-7', 'Left open: the list of all codes in error'],
  ['ERROR-8', 'An HTTPValidationError is a list detail of objects with loc, msg and type'],
  ['ERROR-9', 'loc is a list of texts and whole numbers'],
  ['ERROR-10', 'msg and type are texts'],
  [
    'ERROR-11',
    'Tools, prompts, website lookup and knowledge bases answer invalid requests with 422 and that body',
  ],
  ['ERROR-12', "A subscription's validation error has the whole number status, such as 400"],
  ['ERROR-13', "A subscription's validation error has the text type, such as VALIDATION_ERROR"],
  ['ERROR-14', "A subscription's validation error has the text message"],
  ['ERROR-15', "A subscription's validation error has the object details"],
  ['ERROR-16', "A subscription's validation error has a timestamp in ISO 8601"],
  ['ERROR-17', "A subscription's validation error has the text path"],
  ['ERROR-18', "A subscription's validation error has the text trace_id"],
  ['ERROR-19', "A subscription's authentication error has the text error, such as Authentication"],
  ['ERROR-20', "A subscription's authentication error has the texts message and traceId"],
  ['ERROR-21', 'A missing enable_signed_webhooks is a 400'],
  ['ERROR-22', "Left open: the statuses of a subscription's errors, besides 400 for a validation error"],
  ['ERROR-23', 'Left open: other values of type in a validation error'],
];

export const limitStatements: readonly Statement[] = [
  ['LIMIT-1', "A subscription's description has at most 1500 characters, when created and when updated"],
  [
    'LIMIT-2',
    "A subscription's name is not blank and unique in its organization, when created and when updated",
  ],
  ['LIMIT-3', "A subscription's url begins with http or https; deliveries need https and a domain name"],
  ['LIMIT-4', 'An attempt has 1000 milliseconds by default'],
  ['LIMIT-5', 'The default of chunk_size is 512'],
  ['LIMIT-6', 'The default of chunk_overlap is 50'],
  ['LIMIT-7', 'As a rule, an analysis is ready within 30 seconds of the end, and not within the first'],
  ['LIMIT-8', 'Left open: how many requests are allowed'],
  ['LIMIT-9', 'Left open: the bounds of maxRetryAttempts, maxRetryDelayMs and request_timeout_ms'],
];

export const versionStatements: readonly Statement[] = [
  ['VERSION-1', 'The description of the API has the version 1.0.0'],
  ['VERSION-2', 'Paths of knowledge bases and website lookup begin with /api/v1'],
  ['VERSION-3', 'Paths of prompts and subscriptions begin with /v1'],
  ['VERSION-4', 'Paths of custom tools begin with /v2'],
  ['VERSION-5', 'Payloads of events may change unannounced; a receiver tolerates added fields'],
  ['VERSION-6', 'Left open: how long a version of the API is kept, and what stays compatible'],
];
