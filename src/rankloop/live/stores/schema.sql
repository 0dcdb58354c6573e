CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE models (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, settings BLOB NOT NULL, created INTEGER NOT NULL, deleted INTEGER,
  next_number INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX model_names ON models (name) WHERE deleted IS NULL;
-- `position` is an event's place in the log ("offset" is a word of SQL). The body comes last, so that a scan that does
-- not want it never reads the pages it overflows to.
CREATE TABLE events (
  position INTEGER PRIMARY KEY, model INTEGER NOT NULL, kind INTEGER NOT NULL, number INTEGER NOT NULL,
  at INTEGER NOT NULL, client BLOB NOT NULL, body BLOB NOT NULL
) STRICT;
-- A model's newest closings are found without reading what lies between them: 4 is Kind.CLOSED.
CREATE INDEX closings ON events (model, position) WHERE kind = 4;
CREATE TABLE open_impressions (
  model INTEGER NOT NULL, number INTEGER NOT NULL, shown INTEGER NOT NULL, at INTEGER NOT NULL, grp INTEGER NOT NULL,
  displacement REAL NOT NULL, clicks BLOB NOT NULL, PRIMARY KEY (model, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX open_by_time ON open_impressions (model, at);
CREATE TABLE tallies (
  model INTEGER NOT NULL, span INTEGER NOT NULL, minute INTEGER NOT NULL, grp INTEGER NOT NULL, rank INTEGER NOT NULL,
  shown INTEGER NOT NULL, clicks REAL NOT NULL, squares REAL NOT NULL, displacement REAL NOT NULL,
  PRIMARY KEY (model, span, minute, grp, rank)
) STRICT, WITHOUT ROWID;
CREATE TABLE snapshots (
  model INTEGER NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL, at INTEGER NOT NULL,
  state BLOB NOT NULL, PRIMARY KEY (model, version)
) STRICT;
CREATE TABLE api_keys (
  name TEXT PRIMARY KEY, digest BLOB NOT NULL, scopes TEXT NOT NULL, created INTEGER NOT NULL, revoked INTEGER
) STRICT;
CREATE TABLE secrets (id INTEGER PRIMARY KEY, value BLOB NOT NULL, created INTEGER NOT NULL) STRICT;
