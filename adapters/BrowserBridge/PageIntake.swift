import AdapterThreads
import JSBridge
import Logging
import SignalboxCore
import Synchronization
import WebSocketChat

/// Makes of what pages send what the program is told: calls go on as arrivals of the page, and the rest ends here. One
/// caller at a time, which is the server's thread.
final class PageIntake: Intake {
    private struct State: ~Copyable {
        var batch: ArrivalBatch
        var settlements: PageSettlements?
        /// What was posted to last, as the page wrote it, and the envelope that it means.
        var handler: (json: [UInt8], envelope: Envelope)?
    }

    /// What is to be done with a message: it became one of the batch, or was heard, or tells that its connection has ended.
    private enum MessageKind { case call, heard, ended }

    private let intake: any Intake
    private let directory: PageDirectory
    private let log: AdapterLog
    private let limits: MessageLimits
    private let state: Mutex<State>

    init(_ intake: any Intake, _ directory: PageDirectory, _ configuration: BrowserConfiguration, _ log: AdapterLog) {
        self.intake = intake
        self.directory = directory
        self.log = log
        limits = configuration.limits
        state = Mutex(State(batch: ArrivalBatch(pool: ArrivalPool(), limits: configuration.limits)))
    }

    func room() async throws(SourceClosed) {
        try await intake.room()
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let (settlements, sorted) = state.withLock { sort(batch, to: sink, &$0) }
        let calls = sorted.calls
        // Never trusts the answer further than the batch reaches.
        let taken = calls.isEmpty ? 0 : min(max(0, intake.submit(calls, to: settlements)), calls.count)
        let end = taken < calls.count ? sorted.places[taken] : batch.count
        for call in calls[taken...] { settlements.forget(call.token) }
        for (place, ended) in sorted.others where place < end {
            if let ended { directory.closed(ended) }
            sink.settle(batch[place].token, .handled(reply: nil))
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
        for (place, arrival) in batch.enumerated() {
            guard let chat = arrival.sender as? ChatConnection else {
                sorted.others.append((place, nil))
                continue
            }
            let open = directory.page(of: chat, arrival.origin)
            switch read(arrival, open, settlements, &state) {
            case .call: sorted.places.append(place)
            case .heard: sorted.others.append((place, nil))
            case .ended: sorted.others.append((place, chat))
            }
        }
        sorted.calls = state.batch.take()
        return (settlements, sorted)
    }

    // What is heard here may be heard again, as what is behind the first call that is not taken comes once more.
    private func read(
        _ arrival: Arrival,
        _ open: OpenPage,
        _ settlements: PageSettlements,
        _ state: inout State
    ) -> MessageKind {
        switch arrival.reading {
        case .failure(let rejection):
            reject(rejection, arrival.original, arrival, open, &state)
            return .call
        case .success(let action) where action.name == .chatClosed: return .ended
        case .success(let action) where action.name == .chatConnected: return .heard
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
            switch frame.kind {
            case .answer(let number, let kind):
                open.page.answered(number, kind, message.part(frame.json))
                return .heard
            case .title:
                open.page.titleChanged(message.part(frame.json))
                return .heard
            case .large(let number):
                settlements.expect(arrival.token, number, of: open.page)
                let error = BodyError(.tooLarge, detail: "at most \(limits.bytes) bytes expected")
                reject(Outcome.Rejection(.malformed, error), message.part(frame.json), arrival, open, &state)
            case .call(let number, let timeout, let handler):
                settlements.expect(arrival.token, number, of: open.page)
                let call = PageCall(json: frame.json, timeout: timeout, handler: handler)
                append(call, message, arrival, open, &state)
            }
        } catch {
            log.say(.warning, "frame", "a page sent a message that browser.js does not make: \(error)")
            reject(Outcome.Rejection(.malformed, error), message, arrival, open, &state)
        }
        return .call
    }

    // MARK: - Arrivals

    private func append(
        _ call: PageCall,
        _ message: Bytes,
        _ arrival: Arrival,
        _ open: OpenPage,
        _ state: inout State
    ) {
        switch call.handler.map({ envelope(of: message.part($0), &state) }) ?? .success(.standard) {
        case .failure(let rejection): reject(rejection, message.part(call.json), arrival, open, &state)
        case .success(let envelope):
            message.part(call.json).withUnsafeBytes { json in
                state.batch.append(
                    json,
                    token: arrival.token,
                    origin: open.origin,
                    sender: open.handle,
                    receivedAt: arrival.receivedAt,
                    deadline: call.deadline,
                    envelope: envelope
                )
            }
        }
    }

    private func reject(
        _ rejection: Outcome.Rejection,
        _ original: Bytes,
        _ arrival: Arrival,
        _ open: OpenPage,
        _ state: inout State
    ) {
        original.withUnsafeBytes { bytes in
            state.batch.append(
                rejected: rejection,
                original: bytes,
                token: arrival.token,
                origin: open.origin,
                sender: open.handle,
                receivedAt: arrival.receivedAt
            )
        }
    }

    private func envelope(of handler: Bytes, _ state: inout State) -> Result<Envelope, Outcome.Rejection> {
        if let last = state.handler, handler.elementsEqual(last.json) { return .success(last.envelope) }
        guard let name = try? Body(json: handler).decode(String.self) else {
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name is no string"))
        }
        do throws(NameError) {
            let envelope = Envelope.handler(try ActionName(name))
            state.handler = (Array(handler), envelope)
            return .success(envelope)
        } catch {
            return .failure(Outcome.Rejection(.malformed, detail: "the handler's name names no action: \(error)"))
        }
    }
}

/// A batch of the server's messages, apart: calls, which go on, and what ends here. Both are in order.
struct SortedMessages {
    var calls: [Arrival] = []
    /// Where in the batch each call was.
    var places: [Int] = []
    /// Where in the batch the others were, and which connection has ended by that.
    var others: [(place: Int, ended: ChatConnection?)] = []
}

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
