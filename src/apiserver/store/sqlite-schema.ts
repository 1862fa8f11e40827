import type { DatabaseSync } from 'node:sqlite'

/** Schema migrations in order. Never edit a released one: the database stores only how many were applied. */
const migrations: readonly string[] = [
  `
  CREATE TABLE resource (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  -- Every state there was: revision is the resourceVersion, body the JSON text with that version in it.
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    resource INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    type INTEGER NOT NULL,
    uid TEXT NOT NULL,
    previous INTEGER,
    at INTEGER NOT NULL,
    body TEXT NOT NULL
  );
  CREATE INDEX log_by_object ON log (resource, namespace, name);
  -- What exists now.
  CREATE TABLE head (
    resource INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    uid TEXT NOT NULL,
    PRIMARY KEY (resource, namespace, name)
  ) WITHOUT ROWID;
  CREATE INDEX head_by_uid ON head (uid);
  CREATE TABLE owner (
    owner_uid TEXT NOT NULL,
    uid TEXT NOT NULL,
    resource INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    blocking INTEGER NOT NULL,
    controller INTEGER NOT NULL,
    PRIMARY KEY (owner_uid, uid)
  ) WITHOUT ROWID;
  CREATE INDEX owner_by_dependent ON owner (uid);
  CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES ('floor', 1), ('compacted', 0), ('clean', 1);
  `,
]

/** Migrates a database to the newest schema; throws when a newer program has written it. */
export function migrate(database: DatabaseSync): void {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > migrations.length)
    throw new Error(
      `the database has schema version ${version}, but this program supports up to ${migrations.length}: use a newer release`,
    )
  migrations.slice(version).forEach((step, index) => {
    database.exec(`BEGIN; ${step}; PRAGMA user_version = ${version + index + 1}; COMMIT`)
  })
}
