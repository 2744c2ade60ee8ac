"""Where the log of a tuner is kept: a SQLite file, or a PostgreSQL database."""
