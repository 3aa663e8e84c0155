// Before 6.3, Swift cannot place a value into a section; such a program has no check.
#if canImport(Glibc) && compiler(>=6.3)
import CProgramStart
import Glibc

/// Runs ``checkLimits()`` before the constructors of the libraries, which trap if they get no memory or no thread. Only
/// functions of this section run before them.
@used @section(".preinit_array") private let beforeConstructors: @convention(c) () -> Void = checkLimits

/// Ends the program with a sentence and status 71 if a limit leaves too little memory (`ulimit -v`) or no thread
/// (`ulimit -u`).
///
/// The Swift runtime may not be ready yet, so the function only calls functions of C.
private func checkLimits() {
    if isLimited(__rlimit_resource_t(RLIMIT_AS.rawValue), below: .max) {
        // What the libraries and the threads of every command need beyond what is mapped when the program is loaded.
        // JavaScriptCore alone reserves 128 MiB before `main`.
        let needed = 384 << 20
        let reserved = mmap(nil, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard reserved != MAP_FAILED else {
            end(
                "signalbox: there is too little memory for the program's libraries and threads; raise the limit (ulimit -v)\n"
            )
        }
        munmap(reserved, needed)
        cstart_share_one_arena()
    }
    // A thread costs time, so a usual limit is not tried here: the command tries all the threads that it needs.
    if isLimited(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), below: 1_024) {
        var thread = pthread_t()
        guard pthread_create(&thread, nil, { _ in nil }, nil) == 0 else {
            end("signalbox: the system cannot create threads; raise the limit of threads (ulimit -u)\n")
        }
        pthread_join(thread, nil)
    }
}

private func isLimited(_ resource: __rlimit_resource_t, below bound: rlim_t) -> Bool {
    var limit = rlimit()
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur < bound
}

private func end(_ message: StaticString) -> Never {
    _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
    // EX_OSERR of sysexits.h, as in `CommandStatus`.
    _exit(71)
}
#endif
