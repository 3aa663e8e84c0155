#ifndef SIGNALBOX_CPROGRAMSTART_SHIM_H
#define SIGNALBOX_CPROGRAMSTART_SHIM_H

#if defined(__linux__)
#include <features.h>
#endif

#if defined(__GLIBC__)
#include <malloc.h>
#endif

// The commit that the program is built from, which packaging/build passes to the compiler.
static inline const char *cstart_commit(void) {
#if defined(SIGNALBOX_COMMIT)
    return SIGNALBOX_COMMIT;
#else
    return "";
#endif
}

// Swift's module of the C library does not have <malloc.h>. By default, each thread that allocates reserves another 64 MiB, and
// under a limit on the address space there would be no room for its stack.
static inline void cstart_share_one_arena(void) {
#if defined(__GLIBC__)
    mallopt(M_ARENA_MAX, 1);
#endif
}

#endif
