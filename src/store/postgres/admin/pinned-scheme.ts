/** The pinned signature scheme, for every process that shares the inbox. */
import type { Session } from '../connection/session.ts';

export async function getPinned(session: Session): Promise<string | undefined> {
  const [row] = await session.query<{ value: string }>(
    "select value from ringback.settings where name = 'scheme'",
  );
  return row?.value;
}

/**
 * Pins a scheme unless a scheme other than `instead` is pinned, which the insert itself decides. Resolves to the scheme
 * that is pinned then.
 */
export async function pin(session: Session, scheme: string, instead: string | undefined): Promise<string> {
  const [pinned] = await session.query<{ value: string }>(
    `insert into ringback.settings as s values ('scheme', $1)
     on conflict (name) do update set value = $1 where s.value = $2 returning value`,
    [scheme, instead ?? null],
  );
  return pinned?.value ?? (await getPinned(session)) ?? pin(session, scheme, instead);
}

/** Removes the pinned scheme, and resolves to it. */
export async function unpin(session: Session): Promise<string | undefined> {
  const [row] = await session.query<{ value: string }>(
    "delete from ringback.settings where name = 'scheme' returning value",
  );
  return row?.value;
}
