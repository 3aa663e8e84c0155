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
