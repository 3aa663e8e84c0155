// Before 6.3, Swift cannot place a value into a section; such a program has no check.
#if os(Linux) && compiler(>=6.3)
import CProgramStart

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Runs ``checkMemory()`` before the constructors of the libraries, which trap if they get no memory. Only functions of this
/// section run before them.
@used @section(".preinit_array") private let beforeConstructors: @convention(c) () -> Void = checkMemory

/// Ends the program with a sentence and status 71 if a limit on its address space (`ulimit -v`) leaves too little memory.
///
/// The Swift runtime may not be ready yet, so the function only calls functions of C.
private func checkMemory() {
    // What the libraries and the threads of every command need beyond what is mapped when the program is loaded.
    // JavaScriptCore alone reserves 128 MiB before `main`.
    let needed = 384 << 20
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else { return }
    let reserved = mmap(nil, needed, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    if reserved != MAP_FAILED {
        munmap(reserved, needed)
        cstart_share_one_arena()
        return
    }
    let message: StaticString =
        "signalbox: there is too little memory for the program's libraries and threads; raise the limit (ulimit -v)\n"
    _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
    // EX_OSERR of sysexits.h, as in `CommandStatus`.
    _exit(71)
}
#endif
