#ifndef SIGNALBOX_CSQLITE_SHIM_H
#define SIGNALBOX_CSQLITE_SHIM_H

#include <sqlite3.h>

// SQLITE_TRANSIENT, with which SQLite copies a value, is a cast that Swift cannot express. A missing pointer would bind NULL instead of
// an empty value.

static inline int csqlite_bind_text(sqlite3_stmt *statement, int position, const void *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, position, count == 0 ? "" : (const char *)text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int csqlite_bind_blob(sqlite3_stmt *statement, int position, const void *bytes, sqlite3_uint64 count) {
    if (count == 0) return sqlite3_bind_zeroblob(statement, position, 0);
    return sqlite3_bind_blob64(statement, position, bytes, count, SQLITE_TRANSIENT);
}

// Variadic. Without this, a name in double quotes that is misspelt would be read as a text (https://sqlite.org/quirks.html#dblquote).
static inline void csqlite_refuse_double_quoted_text(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}

#endif
