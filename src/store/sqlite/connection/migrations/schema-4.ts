/** Schema 4: identities are kept by era, so that new ones are written only among those of the latest era. */
export const schema4 = `
  alter table identities rename to former_identities;
  drop index identities_expired;

  -- What an event is recognized by: digests of its identities, of one short size. They come in no order: in one tree for
  -- all of them each would be written on a page of its own, of a tree as large as the inbox. An era is a stretch of
  -- 65,536 sequences. New ones go into the latest, where the primary key decides on duplicates, in the insert itself; the
  -- earlier ones no longer change, but that identities are forgotten, and are looked into by the same transaction. When
  -- the event is gone its identities stay as tombstones until they expire, so that a late copy is a duplicate.
  create table identities (
    era        integer not null,
    identity   blob not null,
    sequence   integer,
    expires_at integer,
    primary key (era, identity)
  ) without rowid;
  -- What was there before there were eras goes before the first of them.
  insert into identities select -1 as era, identity, sequence, expires_at from former_identities order by identity;
  drop table former_identities;
  create index identities_expired on identities (expires_at) where expires_at is not null;

  -- For each of the earlier eras a filter, which says of nearly all identities that are not in it that they are not.
  create table identity_filters (
    era  integer primary key,
    bits blob not null
  );
`;
