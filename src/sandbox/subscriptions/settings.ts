import { z } from 'zod';

const maxDescription = 1_500;

const id = z.string('Should be an id');

/** Only names and values that are valid in HTTP: any other would break every delivery. */
const headers = z.record(
  z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'Should be the name of a header'),
  z.string('Should be text').regex(/^[\t -~]*$/, 'Should be visible ASCII text'),
  'Should be an object of header names and values',
);

/**
 * The body that creates or replaces a subscription, with the rules of the platform's document (WebhookSubscription;
 * Limits). Unknown fields are ignored.
 */
export const settingsSchema = z
  .object(
    {
      name: z.string('Should be text').refine((name) => name.trim() !== '', 'Should not be blank'),
      description: z
        .string('Should be text')
        .max(maxDescription, `Should have at most ${maxDescription} characters`)
        .optional(),
      url: z.string('Should be text').regex(/^https?:\/\/.*/, 'Should match ^https?://.*'),
      active: z.boolean('Should be true or false'),
      enable_signed_webhooks: z.boolean('Should be true or false'),
      events: z
        .array(
          z
            .string('Should be text')
            .regex(/^(?:\*|[^.\s]+\.[^.\s]+)$/, 'Should be the name of an event, as Service.Event, or *'),
          'Should be a list of event names',
        )
        .default([]),
      headers: headers.optional(),
      // The names of the two scope lists are documented elsewhere, not in the platform's document.
      agent_ids: z.array(id, 'Should be a list of ids').optional(),
      workspace_ids: z.array(id, 'Should be a list of ids').optional(),
    },
    'Should be an object',
  )
  .transform((sent) => ({
    name: sent.name,
    description: unlessEmpty(sent.description),
    url: sent.url,
    active: sent.active,
    isSigned: sent.enable_signed_webhooks,
    events: sent.events,
    headers: unlessEmpty(sent.headers),
    agentIds: unlessEmpty(sent.agent_ids),
    workspaceIds: unlessEmpty(sent.workspace_ids),
  }))
  .refine(({ agentIds, workspaceIds }) => agentIds === undefined || workspaceIds === undefined, {
    path: ['workspace_ids'],
    message: 'Should not be given together with agent_ids: a subscription has one scope',
  });

export type Settings = z.output<typeof settingsSchema>;

/** An empty list, object or text counts as omitted. */
function unlessEmpty<Value extends string | object>(value: Value | undefined): Value | undefined {
  return value === undefined || Object.keys(value).length === 0 ? undefined : value;
}
