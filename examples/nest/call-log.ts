import { Injectable } from '@nestjs/common';
import type { UserDatabase } from 'ringback';

/** What the app keeps about its calls, in the database of the inbox. */
@Injectable()
export class CallLog {
  /** Notes that a call has ended, in the transaction that it is given. */
  noteEnd(database: UserDatabase, callId: string, endedAt: Date): void {
    database.exec(
      'create table if not exists finished_calls (call_id text primary key, ended_at text not null)',
    );
    database
      .prepare('insert into finished_calls values (?, ?) on conflict do nothing')
      .run(callId, endedAt.toISOString());
  }
}
