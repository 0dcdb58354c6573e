-- The same tables and the same order of columns as in schema.sql, so that rows travel from one store to the other.
-- Text is compared byte by byte ("C"), as in SQLite. Ids are given out under the log's lock, so there are no sequences.
CREATE TABLE facts (name text COLLATE "C" PRIMARY KEY, value text NOT NULL);
CREATE TABLE models (
  id bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, settings bytea NOT NULL, created bigint NOT NULL,
  deleted bigint, next_number bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX model_names ON models (name) WHERE deleted IS NULL;
-- Bodies are mostly floating-point numbers: trying to compress them would cost more than it saves.
CREATE TABLE events (
  position bigint PRIMARY KEY, model bigint NOT NULL, kind bigint NOT NULL, number bigint NOT NULL,
  at bigint NOT NULL, client bytea NOT NULL, body bytea NOT NULL
);
ALTER TABLE events ALTER COLUMN body SET STORAGE EXTERNAL;
-- A model's newest closings are found without reading what lies between them: 4 is Kind.CLOSED.
CREATE INDEX closings ON events (model, position) WHERE kind = 4;
-- Rows come and go by the hundred per second: room on each page for clicks to be noted in place, and frequent vacuums.
CREATE TABLE open_impressions (
  model bigint NOT NULL, number bigint NOT NULL, shown bigint NOT NULL, at bigint NOT NULL, grp bigint NOT NULL,
  displacement double precision NOT NULL, clicks bytea NOT NULL, PRIMARY KEY (model, number)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX open_by_time ON open_impressions (model, at);
CREATE TABLE tallies (
  model bigint NOT NULL, span bigint NOT NULL, minute bigint NOT NULL, grp bigint NOT NULL, rank bigint NOT NULL,
  shown bigint NOT NULL, clicks double precision NOT NULL, squares double precision NOT NULL,
  displacement double precision NOT NULL, PRIMARY KEY (model, span, minute, grp, rank)
) WITH (fillfactor = 70);
CREATE TABLE snapshots (
  model bigint NOT NULL, version bigint NOT NULL, position bigint NOT NULL, at bigint NOT NULL,
  state bytea NOT NULL, PRIMARY KEY (model, version)
);
ALTER TABLE snapshots ALTER COLUMN state SET STORAGE EXTERNAL;
CREATE TABLE api_keys (
  name text COLLATE "C" PRIMARY KEY, digest bytea NOT NULL, scopes text NOT NULL, created bigint NOT NULL,
  revoked bigint
);
CREATE TABLE secrets (id bigint PRIMARY KEY, value bytea NOT NULL, created bigint NOT NULL);
INSERT INTO facts VALUES ('schema', '1');
