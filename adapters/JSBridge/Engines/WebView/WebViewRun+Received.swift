import AdapterSupport
import Logging
import SignalboxCore

/// Receives the page's texts and calls on the engine's thread.
extension WebViewRun {
    /// Receives a text posted by relay.js. The text must come from the private world.
    func received(_ text: String) {
        var text = text
        var batch = PageBatch(limits: host.configuration.limits, pool: pool)
        text.withUTF8 { bytes in
            do throws(RelayTextError) {
                try read(UnsafeRawBufferPointer(bytes), into: &batch)
            } catch {
                host.counters.add(to: \.malformedTexts)
                let line = "the page's process sent a message that the bridge never sends; it was dropped: \(error)"
                host.log.writeLimited(.warning, "malformed", line)
            }
        }
        submit(batch.take())
    }

    /// Receives a handler call from the page's world. The web view library does not report which frame made the call.
    ///
    /// - Parameters:
    ///   - handler: The handler's name.
    ///   - json: The value, or `nil` for `undefined`.
    ///   - reply: A closure that is called once, on any thread and possibly before this method returns. The closure
    ///     must not block.
    func receivedRaw(_ handler: String, _ json: String?, reply: @escaping @Sendable (RawAnswer) -> Void) {
        guard let envelope = envelopes[handler] else {
            return reply(.error("unknownAction: the page has no such handler"))
        }
        switch change({ state, _ in state.admitRaw(reply) }) {
        case .taken(let token):
            submit(rawArrival(json ?? "null", as: envelope, token: token))
        case .refused(let outcome): reply(RawAnswer(outcome))
        case .full:
            host.counters.add(to: \.rawCallsRefused)
            let bound = RunState.maximumRawCalls
            let line = "a raw call was rejected: \(bound) raw calls are waiting for an outcome"
            host.log.writeLimited(.warning, "raw", line)
            reply(.error("unavailable: \(bound) such calls are waiting for an answer"))
        }
    }

    private func submit(_ arrivals: [Arrival]) {
        change { state, effects in state.submit(arrivals, &effects) }
        submit()
    }

    private func rawArrival(_ json: String, as envelope: Envelope, token: UInt64) -> [Arrival] {
        var json = json
        let limit = host.configuration.limits.bytes
        var batch = PageBatch(limits: host.configuration.limits, pool: pool)
        json.withUTF8 { text in
            batch.append(
                UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text).prefix(limit)),
                as: text.count > limit ? batch.tooLong : .success(envelope),
                token: token,
                origin: unknownOrigin,
                sender: nil
            )
        }
        return batch.take()
    }

    // MARK: - Records

    private func read(_ bytes: UnsafeRawBufferPointer, into batch: inout PageBatch) throws(RelayTextError) {
        var reader = RelayReader(bytes)
        let (token, originText) = try reader.header()
        guard let origin = origins[originText] else {
            throw RelayTextError(line: 1, detail: "the origin has no bridge")
        }
        var line = 2
        while let record = try reader.record() {
            if record == .hello {
                change { state, effects in state.hello(token, origin, &effects) }
            } else if change({ state, _ in state.document?.token }) == token {
                guard take(record, of: bytes, into: &batch) else {
                    throw RelayTextError(line: line, detail: "more than the document is allowed to send")
                }
            } else {
                return host.counters.add(to: \.lateTexts)
            }
            line += 3
        }
    }

    /// - Returns: Whether the document is allowed to send the record.
    private func take(_ record: RelayRecord, of bytes: UnsafeRawBufferPointer, into batch: inout PageBatch) -> Bool {
        switch record {
        case .hello: break
        case .call(let call): return take(call, of: bytes, into: &batch)
        case .answer(let number, let kind, let text): answered(number, kind, Bytes(Array(bytes[text])))
        case .warn(let text): host.scriptLog.warn(RelayRecord.text(bytes[text]))
        case .error(let text): host.scriptLog.failed(RelayRecord.text(bytes[text]))
        case .full(let count):
            host.counters.add(count, to: \.callsFullInPage)
            let line = "calls were rejected in the page because too many messages are waiting there"
            host.log.writeLimited(.warning, "full", line)
        case .withheld(let lines, let errors): host.scriptLog.report(withheld: lines, errors: errors)
        }
        return true
    }

    private func take(_ call: RelayCall, of bytes: UnsafeRawBufferPointer, into batch: inout PageBatch) -> Bool {
        let json = UnsafeRawBufferPointer(rebasing: bytes[call.json])
        let units = json.utf16Length
        switch change({ state, _ in state.admit(call.number, units: units) }) {
        case .beyondCredit: return false
        case .settled: return true
        case .taken(let token, let origin):
            batch.append(
                json,
                as: call.units > units ? batch.tooLong : envelope(of: bytes[call.handler]),
                token: token,
                origin: origin,
                sender: host.page,
                timeout: call.timeout
            )
            return true
        }
    }

    private func envelope(of handler: Slice<UnsafeRawBufferPointer>) -> Result<Envelope, Outcome.Rejection> {
        if handler.isEmpty { return .success(.standard) }
        guard let envelope = envelopes[RelayRecord.text(handler)] else {
            return .failure(Outcome.Rejection(.malformed, detail: "the page has no such handler"))
        }
        return .success(envelope)
    }

    /// Finishes a call from the program with the page's answer.
    private func answered(_ number: UInt64, _ kind: PageAnswerKind, _ text: Bytes) {
        let answer = PageAnswer(
            kind,
            text.isEmpty ? nil : text,
            detail: text.withUnsafeBytes { RelayRecord.text($0[...]) },
            limit: host.configuration.limits.bytes
        )
        host.mailbox.finish(number, answer)
    }
}

extension RelayRecord {
    /// Returns the text of a JSON string, or a placeholder for any other value, because a page can post anything.
    fileprivate static func text(_ json: Slice<UnsafeRawBufferPointer>) -> String {
        let limits = MessageLimits(bytes: longestText)
        let text =
            json.count <= longestText ? try? Body(json: Bytes(Array(json)), limits: limits).decode(String.self) : nil
        return text ?? "[not a text]"
    }

    /// The maximum length of such a text, in bytes. relay.js permits 8,000 units, each of which takes up to six bytes
    /// as an escape or three bytes otherwise.
    private static let longestText = 65_536
}

/// How to settle the promise of a raw call.
enum RawAnswer: Sendable, Hashable {
    /// Resolves the promise with this JSON.
    case reply(String)
    /// Rejects the promise with an error that has this text: a code, a colon and a sentence.
    case error(String)
}

extension RawAnswer {
    /// The page ended before the call had an outcome.
    static let closed = RawAnswer.error("closed: the page is closing")

    /// The program stops, and the source's journal keeps the message.
    private static let kept = RawAnswer.error("closed: the program keeps the message, and handles it in its next run")

    /// Creates the answer for an outcome.
    init(_ outcome: Outcome) {
        if case .abandoned(.kept) = outcome {
            self = .kept
            return
        }
        guard case .handled(let reply) = outcome else {
            let refusal = ErrorReply(outcome, to: "page")
            self = .error("\(refusal.code): \(refusal.message)")
            return
        }
        self = .reply(reply.map { String(decoding: $0, as: UTF8.self) } ?? "null")
    }
}

/// Limits posts outside the bridge. It has no side effects, because the caller passes the time.
///
/// The web view library itself accepts any number of such messages, of any size, on the thread that all views share.
struct RawRateLimit {
    /// The maximum number of messages per second.
    static let messages = 1_000
    /// The maximum total size of the messages' JSON per second, in bytes. The message that exceeds this size is the
    /// last one accepted.
    static let bytes = 16 * 1_024 * 1_024

    /// The maximum processor time per second spent reading the messages. The web view library uses about as much before
    /// it delivers a message.
    static let time = Duration.milliseconds(100)

    private var began: ContinuousClock.Instant?
    private var count = 0
    private var size = 0
    private var spent = Duration.zero

    /// Records a message.
    ///
    /// - Parameters:
    ///   - bytes: The length of the JSON.
    ///   - time: The processor time spent reading the message.
    /// - Returns: Whether more messages may follow within this second.
    mutating func take(_ bytes: Int, in time: Duration, at now: ContinuousClock.Instant) -> Bool {
        if began.map({ now - $0 >= .seconds(1) }) ?? true {
            began = now
            (count, size, spent) = (0, 0, .zero)
        }
        count += 1
        size = min(size, RawRateLimit.bytes) + min(bytes, RawRateLimit.bytes)
        spent += time
        return count < RawRateLimit.messages && size < RawRateLimit.bytes && spent < RawRateLimit.time
    }
}
