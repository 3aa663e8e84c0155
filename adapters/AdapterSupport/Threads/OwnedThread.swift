/// An operating-system thread that runs one closure.
///
/// Use an owned thread for work that blocks, so that the work does not occupy a thread of Swift's cooperative pool.
///
/// You must call either ``join()`` or ``detach()``, exactly once.
package struct OwnedThread {
    private let id: pthread_t

    /// - Parameter work: The closure that the new thread runs once.
    /// - Throws: ``SystemResourceError`` if the system cannot create a thread.
    package init(_ work: @escaping @Sendable () -> Void) throws(SystemResourceError) {
        // The new thread releases the box when it starts. If no thread is created, this initializer must release the
        // box.
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

    /// Blocks until the thread has ended. Call this method only when the closure is about to return.
    package func join() {
        pthread_join(id, nil)
    }

    /// Detaches the thread, so that it ends by itself when the closure returns.
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

// On Darwin, the C function's argument is not optional.
private func threadMain(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<ThreadWork>.fromOpaque(box).takeRetainedValue().work()
    return nil
}

/// A pipe, with both ends in the same process, that one thread uses to interrupt another thread's `poll`. Wake-ups that
/// arrive before the other thread reacts are combined into one.
///
/// A signal is safe to use from any thread. Waking a thread never blocks: if the pipe is full, a wake-up is already
/// pending.
package final class WakeSignal: Sendable {
    /// The file descriptor to pass to `poll`. It is readable while a wake-up is pending.
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

    /// Discards pending wake-ups. Check the condition that you are waiting for after this call, not before it.
    /// Otherwise, a wake-up that arrives between the check and this call is lost.
    package func drain() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { return }
            while read(readEnd, start, buffer.count) == buffer.count {}
        }
    }

    /// Waits for a wake-up and discards it. The wait also ends when the time limit expires or a POSIX signal interrupts
    /// it.
    ///
    /// - Parameter limit: The maximum wait, rounded up to milliseconds and limited to one day, or `nil` to wait without
    ///   a limit.
    package func wait(for limit: Duration?) {
        var waited = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        if poll(&waited, 1, limit?.pollMilliseconds ?? -1) > 0 { drain() }
    }
}

/// The error thrown when the system cannot provide a resource.
package enum SystemResourceError: Error, CustomStringConvertible {
    case thread
    case descriptor

    /// A description of the missing resource and of how to remedy the problem.
    package var description: String {
        switch self {
        case .thread: "the system cannot create a thread; raise the limit of threads (ulimit -u)"
        case .descriptor: "no file descriptor is left for a pipe; raise the limit (ulimit -n)"
        }
    }
}
