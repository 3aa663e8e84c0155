#include "start.h"

#if defined(__linux__)

#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// The address space that the libraries and the threads of every command need, beyond what is mapped when the program is
// loaded. JavaScriptCore alone reserves 128 MiB before main().
static const size_t needed = (size_t)384 << 20;
// EX_OSERR of sysexits.h, as in CommandStatus.
static const int status = 71;
static const char message[] =
    "signalbox: there is too little memory for the program's libraries and threads; raise the limit (ulimit -v)\n";

static void check_memory(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    void *reserved = mmap(NULL, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved != MAP_FAILED) {
        munmap(reserved, needed);
#if defined(__GLIBC__)
        // By default, each thread that allocates reserves another 64 MiB, and there would be no room for its stack.
        mallopt(M_ARENA_MAX, 1);
#endif
        return;
    }
    ssize_t written = write(STDERR_FILENO, message, strlen(message));
    (void)written;
    _exit(status);
}

// Libraries trap in their constructors if they get no memory, and only this section runs before them.
__attribute__((used, section(".preinit_array"))) static void (*const before_constructors)(void) = check_memory;

#endif
