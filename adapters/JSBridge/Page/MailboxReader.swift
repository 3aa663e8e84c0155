/// A page that runs and takes what waits in a ``PageMailbox``. It is told on any thread, and must not block.
protocol MailboxReader: AnyObject, Sendable {
    /// Something waits, or nobody waits for an answer any more.
    func mailArrived()

    /// The page is to end now.
    func close()
}
