#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A thread of the operating system that runs one closure; it takes no place of Swift's cooperative pool.
///
/// Exactly one of ``join()`` and ``leave()`` must be called.
package struct OwnedThread {
    private let id: pthread_t

    /// - Parameter work: runs once, on the new thread.
    /// - Throws: ``NoSystemResource`` when the system gives no thread.
    package init(_ work: @escaping @Sendable () -> Void) throws(NoSystemResource) {
        // The new thread releases the box when it begins; if there is no new thread, we do.
        let box = Unmanaged.passRetained(ThreadWork(work))
        #if canImport(Darwin)
        var created: pthread_t?
        #else
        var created = pthread_t()
        #endif
        guard pthread_create(&created, nil, threadBegan, box.toOpaque()) == 0 else {
            box.release()
            throw .thread
        }
        #if canImport(Darwin)
        guard let created else {
            throw .thread
        }
        #endif
        id = created
    }

    /// Waits until the thread has ended. Blocks: call it when the closure is known to return now.
    package func join() {
        pthread_join(id, nil)
    }

    /// Lets the thread end by itself.
    package func leave() {
        pthread_detach(id)
    }
}

private final class ThreadWork: Sendable {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }
}

#if canImport(Darwin)
private func threadBegan(_ box: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work()
    return nil
}
#else
private func threadBegan(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work()
    return nil
}
#endif

/// Wakes a thread that waits in `poll`: a pipe that holds at most one unread wake-up worth noticing.
///
/// Safe on any thread. Never blocks: a full pipe means that the thread has yet to wake up anyway.
package final class WakeSignal: Sendable {
    /// Readable while a wake-up is unread; for `poll`.
    package let readEnd: Int32
    private let writeEnd: Int32

    /// - Throws: ``NoSystemResource`` when no descriptor is left.
    package init() throws(NoSystemResource) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw .descriptor
        }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Wakes the thread, now or at its next wait.
    package func wake() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }

    /// Forgets the wake-ups so far. Whoever waits looks at what it waits for after this call, never before it.
    package func drain() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { return }
            while read(readEnd, start, buffer.count) == buffer.count {}
        }
    }

    /// Waits until a wake-up is there, which is then forgotten, or until `limit` has passed; earlier also on a signal.
    ///
    /// - Parameter limit: rounded up to milliseconds, at most one day; for ever when `nil`.
    package func wait(for limit: Duration?) {
        var waited = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        if poll(&waited, 1, limit?.pollMilliseconds ?? -1) > 0 { drain() }
    }
}

/// What the system had none of.
package enum NoSystemResource: Error, CustomStringConvertible {
    case thread
    case descriptor

    /// What is missing and what to do.
    package var description: String {
        switch self {
        case .thread: "the system gave no thread; raise the limit of threads (ulimit -u)"
        case .descriptor: "no file descriptor is left for a pipe; raise the limit (ulimit -n)"
        }
    }
}
