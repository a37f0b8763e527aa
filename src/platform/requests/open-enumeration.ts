/** The values that are known, and any other text: the platform may add to its enumerations at any time. */
export type OpenEnumeration<Known extends string> = Known | (string & Record<never, never>);
