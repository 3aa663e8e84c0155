/// An operating-system thread that runs one closure. It does not occupy a thread of Swift's cooperative pool.
///
/// Call exactly one of ``join()`` and ``detach()``.
package struct OwnedThread {
    private let id: pthread_t

    /// - Parameter work: The closure that the new thread runs, once.
    /// - Throws: ``SystemResourceError`` if the system cannot create a thread.
    package init(_ work: @escaping @Sendable () -> Void) throws(SystemResourceError) {
        // The new thread releases the box when it starts. If creation fails, this initializer releases it.
        let box = Unmanaged.passRetained(ThreadWork(work))
        #if canImport(Darwin)
        var created: pthread_t?
        #else
        var created = pthread_t()
        #endif
        guard pthread_create(&created, nil, { threadMain($0) }, box.toOpaque()) == 0 else {
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

    /// Blocks until the thread has ended. Call it only when the closure is about to return.
    package func join() {
        pthread_join(id, nil)
    }

    /// Detaches the thread, which then ends on its own.
    package func detach() {
        pthread_detach(id)
    }
}

private final class ThreadWork: Sendable {
    let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }
}

// On Darwin the C function's argument is not optional.
private func threadMain(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work()
    return nil
}

/// A self-pipe that interrupts `poll`. Wake-ups coalesce.
///
/// Safe on any thread. Never blocks: if the pipe is full, a wake-up is already pending.
package final class WakeSignal: Sendable {
    /// The descriptor to pass to `poll`; readable while a wake-up is pending.
    package let readEnd: Int32
    private let writeEnd: Int32

    /// - Throws: ``SystemResourceError`` if no file descriptor is available.
    package init() throws(SystemResourceError) {
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

    /// Interrupts the thread's current wait, or its next one.
    package func wake() {
        var byte: UInt8 = 1
        _ = write(writeEnd, &byte, 1)
    }

    /// Discards pending wake-ups. Check the awaited condition after this call, never before it.
    package func drain() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { return }
            while read(readEnd, start, buffer.count) == buffer.count {}
        }
    }

    /// Waits for a wake-up and discards it. Returns early after `limit`, or when a signal interrupts the wait.
    ///
    /// - Parameter limit: The maximum wait, rounded up to milliseconds and at most one day; `nil` waits indefinitely.
    package func wait(for limit: Duration?) {
        var waited = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        if poll(&waited, 1, limit?.pollMilliseconds ?? -1) > 0 { drain() }
    }
}

/// An error for a resource that the system cannot provide.
package enum SystemResourceError: Error, CustomStringConvertible {
    case thread
    case descriptor

    /// The missing resource and the remedy.
    package var description: String {
        switch self {
        case .thread: "the system cannot create a thread; raise the limit of threads (ulimit -u)"
        case .descriptor: "no file descriptor is left for a pipe; raise the limit (ulimit -n)"
        }
    }
}
