/** Schema 7: of a large delivery that is not authentic, the quarantine may keep only the head of the body. */
export const schema7 = `
  -- The size of the whole body, where the quarantine has only its head. In a table of its own: a column behind the body
  -- could be read only by going through the body's pages.
  create table quarantine_cut (
    id   integer primary key,
    size integer not null
  );
  create trigger quarantine_cut_removed after delete on quarantine begin
    delete from quarantine_cut where id = old.id;
  end;
`;
