import SignalboxCore
import Synchronization

/// The calls of pages that have no outcome yet. Any thread.
final class PageSettlements: SettlementSink {
    private struct Call {
        let page: BrowserPage
        let number: UInt64
    }

    /// Who counts what is under way on each connection.
    let server: any SettlementSink
    private let calls = Mutex<[UInt64: Call]>([:])

    init(_ server: any SettlementSink) {
        self.server = server
    }

    /// Before the call's arrival is submitted.
    ///
    /// - Parameter token: the server's for the message, which no other has as long as it is not settled.
    func expect(_ token: UInt64, _ number: UInt64, of page: BrowserPage) {
        calls.withLock { $0[token] = Call(page: page, number: number) }
    }

    /// The arrival was not taken after all.
    func forget(_ token: UInt64) {
        calls.withLock { $0[token] = nil }
    }

    func mayAcknowledge(_ token: UInt64) {
        server.mayAcknowledge(token)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let call = calls.withLock { $0.removeValue(forKey: token) }
        // Before the server hears of it, which may close the connection behind the last outcome.
        call?.page.tell(call?.number ?? 0, outcome)
        server.settle(token, outcome)
    }
}
