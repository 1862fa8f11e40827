import type { DatabaseSync, StatementSync } from 'node:sqlite'

const recordColumns = 'h.namespace, h.name, h.uid, h.revision, l.body'
const headRows = `SELECT ${recordColumns} FROM head h JOIN log l ON l.revision = h.revision WHERE h.resource = ?1`
const pastRows = (range: string) => `
  SELECT h.namespace, h.name, l.uid, l.revision, l.body
  FROM (SELECT namespace, name, max(revision) AS revision FROM log
        WHERE resource = ?1 AND ${range} AND revision <= ?5 GROUP BY namespace, name) h
  JOIN log l ON l.revision = h.revision WHERE l.type <> 2 ORDER BY h.namespace, h.name LIMIT ?4`
const everywhere = '(namespace, name) > (?2, ?3)'
const inNamespace = 'namespace = ?2 AND name > ?3'
const eventColumns = 'e.revision, e.namespace, e.name, e.type, e.uid, e.body, e.previous, p.body'
const dependentColumns = 'o.resource, o.namespace, o.name, o.uid, o.blocking, o.controller'

/**
 * The store's prepared statements. All return rows as arrays. Scans take resource, namespace, name, limit, revision.
 */
export type Statements = Readonly<Record<keyof typeof sources, StatementSync>>

const sources = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  get: `${headRows} AND h.namespace = ?2 AND h.name = ?3`,
  scanAll: `${headRows} AND (h.namespace, h.name) > (?2, ?3) ORDER BY h.namespace, h.name LIMIT ?4`,
  scanNamespace: `${headRows} AND h.namespace = ?2 AND h.name > ?3 ORDER BY h.name LIMIT ?4`,
  scanAllAt: pastRows(everywhere),
  scanNamespaceAt: pastRows(inNamespace),
  countAll: `SELECT count(*) FROM head WHERE resource = ?1 AND ${everywhere}`,
  countNamespace: `SELECT count(*) FROM head WHERE resource = ?1 AND ${inNamespace}`,
  countAllAt: `SELECT count(*) FROM (${pastRows(everywhere)})`,
  countNamespaceAt: `SELECT count(*) FROM (${pastRows(inNamespace)})`,
  changes: `
    SELECT ${eventColumns} FROM log e LEFT JOIN log p ON p.revision = e.previous
    WHERE e.revision > ?2 AND e.revision <= ?3 AND e.resource = ?1 ORDER BY e.revision LIMIT ?4`,
  addLog: 'INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  addHead: 'INSERT INTO head VALUES (?, ?, ?, ?, ?)',
  moveHead: 'UPDATE head SET revision = ? WHERE resource = ? AND namespace = ? AND name = ?',
  dropHead: 'DELETE FROM head WHERE resource = ? AND namespace = ? AND name = ?',
  addResource: 'INSERT INTO resource (id, name) VALUES (?, ?)',
  resources: 'SELECT id, name FROM resource',
  dropOwners: 'DELETE FROM owner WHERE uid = ?',
  addOwner: 'INSERT OR REPLACE INTO owner VALUES (?, ?, ?, ?, ?, ?, ?)',
  // `+ 0`: SQLite recompiles a statement whose LIMIT is a bare parameter on every run, 20 times the cost of running it.
  dependentsOf: `SELECT ${dependentColumns} FROM owner o WHERE o.owner_uid = ? ORDER BY o.uid LIMIT ? + 0`,
  countBlocking: 'SELECT count(*) FROM owner WHERE owner_uid = ? AND blocking = 1',
  danglingOwners: `
    SELECT DISTINCT owner_uid FROM owner o WHERE owner_uid > ?1
    AND NOT EXISTS (SELECT 1 FROM head WHERE uid = o.owner_uid) ORDER BY owner_uid LIMIT ?2`,
  addressOf: 'SELECT resource, namespace, name FROM head WHERE uid = ?',
  newestRevision: 'SELECT max(revision) FROM log',
  writtenAt: 'SELECT at FROM log WHERE revision <= ? ORDER BY revision DESC LIMIT 1',
  dropSuperseded: `
    DELETE FROM log WHERE revision IN
      (SELECT previous FROM log WHERE revision > ?1 AND revision <= ?2 AND previous IS NOT NULL)`,
  dropTombstones: 'DELETE FROM log WHERE revision > ? AND revision <= ? AND type = 2',
  getMeta: 'SELECT value FROM meta WHERE key = ?',
  setMeta: 'UPDATE meta SET value = ?2 WHERE key = ?1',
} as const

/** Prepares every statement of the store. */
export function prepareStatements(database: DatabaseSync): Statements {
  const prepared = Object.entries(sources).map(([name, sql]) => {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    return [name, statement] as const
  })
  return Object.fromEntries(prepared) as Statements
}
