/**
 * SQL: the parameter `@reason`, followed by the reason that the run had: whoever looks at it wants to know what was
 * wrong before. That one is cut, because it may have a former one itself, time after time.
 */
export const withFormerReason =
  "@reason || coalesce(' (its reason was: ' || substr(nullif(reason, ''), 1, 500) || ')', '')";
