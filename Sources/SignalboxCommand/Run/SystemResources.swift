import AdapterSupport
import Synchronization

/// Checks at the start that the system provides what every command needs.
///
/// Swift's runtime and Dispatch cannot report that a thread or a descriptor is missing. Without a thread, Dispatch
/// retries without end, and without a descriptor, it traps. So the command obtains both once before it starts any work, and
/// returns them. Later shortages are reported by the source that needs the thread or the descriptor.
///
/// The program checks the memory at its start, because libraries trap before `main` if there is too little.
enum SystemResources {
    /// The number of threads that must be available: one per processor for Swift's tasks, one for Dispatch's blocking
    /// work, and a few for queues and sources. It is bounded, so that a large machine can run a small container.
    private static let threads = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 8) * 2 + 8
    /// The number of descriptors that must be available.
    private static let descriptors = 32

    /// Returns a sentence about the resource that is missing, or `nil` if nothing is.
    static func missing() -> String? {
        if !hasDescriptors() {
            return "signalbox: fewer than \(descriptors) file descriptors are left; raise the limit (ulimit -n)"
        }
        if !hasThreads() {
            return "signalbox: the system cannot create \(threads) threads; raise the limit of threads (ulimit -u, the "
                + "container's limit of processes) or of memory (ulimit -v)"
        }
        return nil
    }

    private static func hasDescriptors() -> Bool {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<descriptors {
            let descriptor = open("/", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return false }
            opened.append(descriptor)
        }
        return true
    }

    private static func hasThreads() -> Bool {
        let gate = Gate()
        // The threads must exist at the same time, so they wait until the last one is created.
        let created = gate.open.withLock { _ in
            (0..<threads).prefix { _ in gate.add() }.count
        }
        gate.join()
        return created == threads
    }

    private final class Gate: Sendable {
        let open = Mutex(())
        private let threads = Mutex<[OwnedThread]>([])

        func add() -> Bool {
            guard let thread = try? OwnedThread({ [self] in open.withLock { _ in } }) else { return false }
            threads.withLock { $0.append(thread) }
            return true
        }

        func join() {
            for thread in threads.withLock({ $0 }) { thread.join() }
        }
    }
}

/// The descriptors of stdin, stdout and stderr.
enum StandardDescriptors {
    /// Opens those that the caller of the program has closed.
    ///
    /// Otherwise the next files and sockets would get their numbers, and output would be written into them. What is opened
    /// here refuses each read of stdin and each write to stdout, so that the command reports the missing descriptor.
    static func reserve() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDWR)] {
            guard fcntl(descriptor, F_GETFD) < 0, errno == EBADF else { continue }
            // The system assigns the lowest free number, which is this descriptor.
            _ = open("/dev/null", mode)
        }
    }
}
