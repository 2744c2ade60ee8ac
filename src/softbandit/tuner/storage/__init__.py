"""The store of a tuner's log: a SQLite file, or a PostgreSQL database."""
