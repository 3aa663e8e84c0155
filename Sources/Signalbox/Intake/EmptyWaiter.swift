/// Somebody who waits for a source's window to empty.
struct EmptyWaiter: Sendable {
    let wait: EmptyWait
    let continuation: UnsafeContinuation<Void, Never>
}
