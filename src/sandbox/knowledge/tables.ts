/** Created before any statement is prepared: those on knowledge bases and documents read both tables. */
export const knowledgeTables = `
  create table if not exists knowledge_bases (
    position integer primary key autoincrement,
    id text not null unique,
    organization_id text not null,
    user_id text,
    body text not null
  ) strict;
  create index if not exists knowledge_bases_of_organization on knowledge_bases (organization_id, position);
  create table if not exists documents (
    position integer primary key autoincrement,
    id text not null unique,
    knowledge_base_id text not null references knowledge_bases (id) on delete cascade,
    name text not null,
    source text not null,
    size integer not null,
    content blob,
    status text not null default 'queued',
    problem text,
    attempts integer not null default 0,
    chunk_count integer not null default 0,
    frequencies blob,
    created_at integer not null,
    updated_at integer not null
  ) strict;
  create index if not exists documents_of_knowledge_base on documents (knowledge_base_id, position, status);
  create index if not exists documents_waiting on documents (position) where status = 'queued';
  create table if not exists chunks (
    id integer primary key,
    document integer not null references documents (position) on delete cascade,
    text text not null,
    vector blob not null
  ) strict;
  create index if not exists chunks_of_document on chunks (document);
`;
