import { systemClock } from '../../../kit/clock.ts';
import { toProblem } from './opening-cause.ts';
import type { PostgresPlace } from './place.ts';
import { Session } from './session.ts';

/**
 * Whether a schema holds an inbox. Nothing is made in it.
 *
 * @throws RingbackError `database_unreachable`
 */
export async function holdsInbox(place: PostgresPlace): Promise<boolean> {
  const session = new Session(place, systemClock);
  try {
    const tables = ['schema_version', 'events'].map((table) => `${session.statements.schema}.${table}`);
    const [found] = await session.query<{ holds: boolean }>(
      'select bool_and(to_regclass(name) is not null) as holds from unnest($1::text[]) as t (name)',
      [tables],
    );
    return found?.holds === true;
  } catch (error) {
    throw toProblem(error, session.name);
  } finally {
    await session.close();
  }
}
