#if WebSocket
import AdapterSupport
import JSBridge
import Logging
import SignalboxCore
import Synchronization
import WebSocketChat

/// An intake that stands between the server and the supervisor.
///
/// The intake submits the pages' calls as arrivals and handles all other messages itself. Only the server's thread
/// calls it.
final class PageIntake: Intake {
    private struct State: ~Copyable {
        var batch: PageBatch
        var settlements: PageSettlements?
        /// The most recent handler's name, as JSON from the page, and the envelope for that name. This is a cache with
        /// a single entry.
        var handler: (json: [UInt8], envelope: Envelope)?
    }

    /// The result of reading a message: a call to submit with the batch, a message that has already been handled, or a
    /// message that ends its connection.
    private enum MessageKind { case call, handled, ended }

    private let intake: any Intake
    private let directory: PageDirectory
    private let log: AdapterLog
    private let state: Mutex<State>

    init(_ intake: any Intake, _ directory: PageDirectory, _ configuration: BrowserConfiguration, _ log: AdapterLog) {
        self.intake = intake
        self.directory = directory
        self.log = log
        state = Mutex(State(batch: PageBatch(limits: configuration.limits)))
    }

    func room() async throws(SourceClosed) {
        try await intake.room()
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let (settlements, sorted) = state.withLock { sort(batch, to: sink, &$0) }
        let calls = sorted.calls
        let taken = calls.isEmpty ? 0 : intake.take(calls, to: settlements)
        let end = taken < calls.count ? sorted.indices[taken] : batch.count
        for call in calls[taken...] { settlements.forget(call.token) }
        for (index, ended) in sorted.others where index < end {
            if let ended { directory.closed(ended) }
            sink.settle(batch[index].token, .handled(reply: nil))
        }
        return end
    }

    // MARK: - Sorting

    private func sort(
        _ batch: [Arrival],
        to sink: any SettlementSink,
        _ state: inout State
    ) -> (PageSettlements, SortedMessages) {
        let settlements = state.settlements.flatMap { $0.server === sink ? $0 : nil } ?? PageSettlements(sink)
        state.settlements = settlements
        var sorted = SortedMessages()
        for (index, arrival) in batch.enumerated() {
            guard let chat = arrival.sender as? ChatConnection else {
                sorted.others.append((index, nil))
                continue
            }
            let open = directory.page(of: chat, arrival.origin)
            switch read(arrival, open, settlements, &state) {
            case .call: sorted.indices.append(index)
            case .handled: sorted.others.append((index, nil))
            case .ended: sorted.others.append((index, chat))
            }
        }
        sorted.calls = state.batch.take()
        return (settlements, sorted)
    }

    // A message can be handled twice. When the supervisor does not take a call, that call and all messages after it are
    // submitted again.
    private func read(
        _ arrival: Arrival,
        _ open: OpenPage,
        _ settlements: PageSettlements,
        _ state: inout State
    ) -> MessageKind {
        switch arrival.reading {
        case .failure(let rejection):
            append(arrival.original, as: .failure(rejection), arrival, open, &state)
            return .call
        case .success(let action) where action.name == .chatClosed: return .ended
        case .success(let action) where action.name == .chatConnected: return .handled
        case .success: return read(frame: arrival, open, settlements, &state)
        }
    }

    private func read(
        frame arrival: Arrival,
        _ open: OpenPage,
        _ settlements: PageSettlements,
        _ state: inout State
    ) -> MessageKind {
        let message = arrival.original
        do throws(BodyError) {
            let frame = try message.withUnsafeBytes { bytes throws(BodyError) in try PageFrame(bytes) }
            let json = message.part(frame.json)
            switch frame.kind {
            case .answer(let number, let kind):
                open.page.answered(number, kind, json)
                return .handled
            case .title:
                open.page.titleChanged(json)
                return .handled
            case .large(let number):
                settlements.expect(arrival.token, number, of: open.page)
                append(json, as: state.batch.tooLong, arrival, open, &state)
            case .call(let number, let timeout, let handler):
                settlements.expect(arrival.token, number, of: open.page)
                let envelope = handler.map { self.envelope(of: message.part($0), &state) } ?? .success(.standard)
                append(json, as: envelope, timeout: timeout, arrival, open, &state)
            }
        } catch {
            log.writeLimited(.warning, "frame", "a page sent a message that browser.js never sends: \(error)")
            append(message, as: .failure(Outcome.Rejection(.malformed, error)), arrival, open, &state)
        }
        return .call
    }

    // MARK: - Arrivals

    private func append(
        _ json: Bytes,
        as envelope: Result<Envelope, Outcome.Rejection>,
        timeout: UInt64 = 0,
        _ arrival: Arrival,
        _ open: OpenPage,
        _ state: inout State
    ) {
        json.withUnsafeBytes { json in
            state.batch.append(
                json,
                as: envelope,
                token: arrival.token,
                origin: open.origin,
                sender: open.handle,
                timeout: Double(timeout),
                received: arrival.receivedAt
            )
        }
    }

    private func envelope(of handler: Bytes, _ state: inout State) -> Result<Envelope, Outcome.Rejection> {
        if let last = state.handler, handler.elementsEqual(last.json) { return .success(last.envelope) }
        guard let name = try? Body(json: handler).decode(String.self) else {
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name is not a string"))
        }
        do throws(NameError) {
            let envelope = Envelope.handler(try ActionName(name))
            state.handler = (Array(handler), envelope)
            return .success(envelope)
        } catch {
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name is not an action name: \(error)"))
        }
    }
}

/// A batch of messages from the server, divided into calls to submit and messages that are handled here. Both keep
/// their order.
struct SortedMessages {
    var calls: [Arrival] = []
    /// The position of each call in the batch.
    var indices: [Int] = []
    /// The position of each other message in the batch, with the connection that the message ends, if any.
    var others: [(index: Int, ended: ChatConnection?)] = []
}

/// Holds the pages' unsettled calls. Safe to use from any thread.
final class PageSettlements: SettlementSink {
    private struct Call {
        let page: BrowserPage
        let number: UInt64
    }

    /// The server's sink, which counts each connection's unsettled messages.
    let server: any SettlementSink
    private let calls = Mutex<[UInt64: Call]>([:])

    init(_ server: any SettlementSink) {
        self.server = server
    }

    /// Stores a call before its arrival is submitted.
    ///
    /// - Parameter token: The server's token, which is unique among unsettled messages.
    func expect(_ token: UInt64, _ number: UInt64, of page: BrowserPage) {
        calls.withLock { $0[token] = Call(page: page, number: number) }
    }

    /// Removes a call whose arrival was not taken.
    func forget(_ token: UInt64) {
        calls.withLock { $0[token] = nil }
    }

    func mayAcknowledge(_ token: UInt64) {
        server.mayAcknowledge(token)
    }

    func accepted(_ token: UInt64) {
        if let call = calls.withLock({ $0[token] }) { call.page.accepted(call.number) }
        server.accepted(token)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let call = calls.withLock { $0.removeValue(forKey: token) }
        // Send the outcome first, because the server may close the connection after the last outcome.
        call?.page.settle(call?.number ?? 0, outcome)
        server.settle(token, outcome)
    }
}
#endif
