package import SignalboxCore

/// What an engine gives a ``PageHandle``: the way to its page. Any thread; nothing blocks.
package protocol PagePort: AnyObject, Sendable {
    /// What the page is called, or `nil` when nobody named it.
    var title: String? { get }

    /// Hands a message to the page, in order.
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused)

    /// Calls the page and waits for its answer, as JSON; `nil` when the listener returned nothing.
    ///
    /// It ends when the page answers, goes, or after `timeout`.
    func call(_ action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes?

    /// Asks the page to end. Any number of times.
    func close()
}
