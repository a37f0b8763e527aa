/**
 * SQL: the parameter `@reason`, followed by the reason that the run had: whoever looks at it wants to know what was
 * wrong before.
 */
export const withFormerReason = "@reason || coalesce(' (its reason was: ' || nullif(reason, '') || ')', '')";
