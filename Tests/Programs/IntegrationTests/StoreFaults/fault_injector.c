// Makes calls fail that change the files of a store, or kills the process at one of them. Preload it into a program:
//
//   cc -shared -fPIC -o fault_injector.so fault_injector.c -ldl
//   FAULT_NAME=messages.db FAULT_AT=7 FAULT_COUNT=1 FAULT_ERROR=5 FAULT_REPORT=fired LD_PRELOAD=./fault_injector.so PROGRAM
//
// Counts the calls whose file has a name that contains FAULT_NAME: open, write, sync, truncate. FAULT_COUNT of them fail with the
// error number FAULT_ERROR, beginning with the one of number FAULT_AT. With the error number 0 the process is killed instead. The
// first of them is written to the file FAULT_REPORT.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { most_files = 4096 };

static const char *name;
static const char *report;
static long first;
static long last;
static int error;
static atomic_long calls;
static atomic_bool is_known[most_files];

static long number(const char *variable) {
    const char *text = getenv(variable);
    return text == NULL ? 0 : atol(text);
}

__attribute__((constructor)) static void begin(void) {
    first = number("FAULT_AT");
    last = first + number("FAULT_COUNT") - 1;
    error = (int)number("FAULT_ERROR");
    report = getenv("FAULT_REPORT");
    name = getenv("FAULT_NAME");
}

// Whether this call fails. Does not return if the process is killed.
static bool fails(const char *call) {
    long count = atomic_fetch_add(&calls, 1) + 1;
    if (count < first || count > last) return false;
    if (count == first && report != NULL) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        syscall(SYS_write, file, call, strlen(call));
        syscall(SYS_close, file);
    }
    if (error == 0) {
        kill(getpid(), SIGKILL);
        // The signal may reach another thread first; this call must not continue.
        while (true) pause();
    }
    errno = error;
    return true;
}

static bool is_store(int file) { return file >= 0 && file < most_files && atomic_load(&is_known[file]); }

static int opened(const char *path, int folder, int flags, mode_t mode) {
    bool is_own = name != NULL && path != NULL && strstr(path, name) != NULL;
    if (is_own && fails("open")) return -1;
    int file = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (file >= 0 && file < most_files) atomic_store(&is_known[file], is_own);
    return file;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return opened(path, AT_FDCWD, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    return opened(path, AT_FDCWD, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return opened(path, folder, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    MODE(flags)
    return opened(path, folder, flags, mode);
}

// Defines a function that fails or calls the system's.
#define FAILING(result, function, parameters, ...) \
    result function parameters { \
        if (is_store(file) && fails(#function)) return -1; \
        static result(*next) parameters; \
        if (next == NULL) next = (result(*) parameters)dlsym(RTLD_NEXT, #function); \
        return next(__VA_ARGS__); \
    }

FAILING(ssize_t, write, (int file, const void *bytes, size_t count), file, bytes, count)
FAILING(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t at), file, bytes, count, at)
FAILING(ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t at), file, bytes, count, at)
FAILING(int, fsync, (int file), file)
FAILING(int, fdatasync, (int file), file)
FAILING(int, ftruncate, (int file, off_t size), file, size)
FAILING(int, ftruncate64, (int file, off64_t size), file, size)
