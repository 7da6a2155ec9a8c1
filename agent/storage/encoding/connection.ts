// A connection to a state file, by the name that the tables know it under. In a file of its own: what
// opens a state (database.ts) stands above the tables, and they need no more of it than this.

import type Database from 'better-sqlite3';

export type Connection = Database.Database;
