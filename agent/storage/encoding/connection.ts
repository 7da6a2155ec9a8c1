// A connection to a state file. The tables need only this type and not the code that opens a file
// (database.ts), which imports the tables.

import type Database from 'better-sqlite3';

export type Connection = Database.Database;
