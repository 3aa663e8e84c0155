import AdapterThreads
import SignalboxCore

/// What the engine hears from the page, on its thread.
extension WebViewRun {
    /// A text that relay.js posted, from the private world and no other.
    func received(_ text: String) {
        var text = text
        var batch = PageBatch(limits: parts.configuration.limits, pool: pool)
        text.withUTF8 { bytes in
            do throws(RelayTextError) {
                try read(UnsafeRawBufferPointer(bytes), into: &batch)
            } catch {
                parts.counters.add(to: \.malformedTexts)
                log.heardMalformed(error)
            }
        }
        submit(batch.take())
    }

    /// A page-world call of a handler, from whatever frame: nobody can tell from which.
    ///
    /// - Parameters:
    ///   - handler: what was posted to.
    ///   - json: the value, or `nil` for `undefined`.
    ///   - reply: called once, on any thread, perhaps within this call; must not block.
    func receivedRaw(_ handler: String, _ json: String?, reply: @escaping @Sendable (RawAnswer) -> Void) {
        guard let envelope = envelopes[handler] else {
            return reply(.error("unknownAction: the page has no such handler"))
        }
        switch change({ state, _ in state.admitRaw(reply) }) {
        case .taken(let token):
            submit(rawArrival(json ?? "null", as: envelope, token: token))
        case .refused(let outcome): reply(RawAnswer(outcome))
        case .full:
            parts.counters.add(to: \.rawCallsRefused)
            log.refusedRawCall()
            reply(.error("unavailable: \(RunState.mostRawCalls) such calls have no answer yet"))
        }
    }

    private func submit(_ arrivals: [Arrival]) {
        change { state, effects in state.submit(arrivals, &effects) }
        submit()
    }

    private func rawArrival(_ json: String, as envelope: Envelope, token: UInt64) -> [Arrival] {
        var json = json
        let limit = parts.configuration.limits.bytes
        var batch = PageBatch(limits: parts.configuration.limits, pool: pool)
        json.withUTF8 { text in
            let bytes = UnsafeRawBufferPointer(text)
            guard bytes.count <= limit else {
                let beginning = UnsafeRawBufferPointer(rebasing: bytes.prefix(limit))
                return batch.append(tooLong: beginning, token: token, origin: unknownOrigin, sender: nil)
            }
            batch.append(bytes, as: .success(envelope), token: token, origin: unknownOrigin, sender: nil, timeout: 0)
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
                    throw RelayTextError(line: line, detail: "more than the document may send")
                }
            } else {
                return parts.counters.add(to: \.lateTexts)
            }
            line += 3
        }
    }

    /// - Returns: whether the document may send it.
    private func take(_ record: RelayRecord, of bytes: UnsafeRawBufferPointer, into batch: inout PageBatch) -> Bool {
        switch record {
        case .hello: break
        case .call(let number, let timeout, let units, let handler, let json):
            let message = PageCall(
                number: number,
                timeout: timeout,
                units: units,
                handler: UnsafeRawBufferPointer(rebasing: bytes[handler]),
                json: UnsafeRawBufferPointer(rebasing: bytes[json])
            )
            return take(message, into: &batch)
        case .answer(let number, let kind, let text): answered(number, kind, Bytes(Array(bytes[text])))
        case .warn(let text): log.page.warn(RelayRecord.text(bytes[text]))
        case .error(let text): log.page.failed(RelayRecord.text(bytes[text]))
        case .full(let count):
            parts.counters.add(count, to: \.callsFullInPage)
            log.heardFull()
        case .withheld(let lines, let errors): log.page.tell(withheld: lines, errors: errors)
        }
        return true
    }

    private struct PageCall {
        let number: UInt64
        let timeout: Double
        let units: Int
        let handler: UnsafeRawBufferPointer
        let json: UnsafeRawBufferPointer
    }

    private func take(_ call: PageCall, into batch: inout PageBatch) -> Bool {
        let units = call.json.utf16Length
        switch change({ state, _ in state.admit(call.number, units: units) }) {
        case .beyondCredit: return false
        case .settled: return true
        case .taken(let token, let origin):
            if call.units > units {
                batch.append(tooLong: call.json, token: token, origin: origin, sender: parts.handle)
            } else {
                batch.append(
                    call.json,
                    as: envelope(of: call.handler),
                    token: token,
                    origin: origin,
                    sender: parts.handle,
                    timeout: call.timeout
                )
            }
            return true
        }
    }

    private func envelope(of handler: UnsafeRawBufferPointer) -> Result<Envelope, Outcome.Rejection> {
        if handler.isEmpty { return .success(.standard) }
        guard let envelope = envelopes[RelayRecord.text(handler[...])] else {
            return .failure(Outcome.Rejection(.malformed, detail: "the page has no such handler"))
        }
        return .success(envelope)
    }

    /// The page answers a call from the program.
    private func answered(_ number: UInt64, _ kind: RelayRecord.AnswerKind, _ text: Bytes) {
        parts.mailbox.finish(number, answer(kind, text))
    }

    private func answer(_ kind: RelayRecord.AnswerKind, _ text: Bytes) -> Result<Bytes?, PageCallError> {
        guard kind == .returned else {
            let detail = text.withUnsafeBytes { RelayRecord.text($0[...]) }
            return .failure(PageCallError(answered: kind.rawValue, String(detail.prefix(PageCallError.longestDetail))))
        }
        let limit = parts.configuration.limits.bytes
        guard text.count <= limit else { return .failure(.answerTooLong(limit: limit)) }
        return .success(text.isEmpty ? nil : text)
    }
}

extension RelayRecord {
    /// The text of a JSON string, or what stands for it when it is none: a page can post anything.
    fileprivate static func text(_ json: Slice<UnsafeRawBufferPointer>) -> String {
        let limits = MessageLimits(bytes: longestText)
        let text =
            json.count <= longestText ? try? Body(json: Bytes(Array(json)), limits: limits).decode(String.self) : nil
        return text ?? "[not a text]"
    }

    /// In bytes: relay.js lets 8,000 units through, of which each may be an escape of six bytes, or three bytes.
    private static let longestText = 65_536
}

/// What the promise of a raw call is settled with.
enum RawAnswer: Sendable, Hashable {
    /// Resolved with this JSON.
    case reply(String)
    /// Rejected with an error of this text: a code, a colon and a sentence.
    case error(String)
}

extension RawAnswer {
    /// The page ends before there is an outcome.
    static let closed = RawAnswer.error("closed: the page ends")

    /// What the caller is told of an outcome.
    init(_ outcome: Outcome) {
        guard case .handled(let reply) = outcome else {
            let refusal = OutcomeRefusal(outcome, to: "page")
            self = .error("\(refusal.code): \(refusal.message)")
            return
        }
        self = .reply(reply.map { String(decoding: $0, as: UTF8.self) } ?? "null")
    }
}

/// How much may be posted past the bridge: the library takes every such message, however many and large, on the thread that
/// all views share. Pure: the caller says what time it is.
struct RawBudget {
    /// The most messages within a second.
    static let messages = 1_000
    /// The most bytes of JSON within a second; the message that goes over it counts as the last.
    static let bytes = 16 * 1_024 * 1_024

    /// How much processor time they may take to be read within a second; the library has taken about as much before it
    /// hands one over.
    static let time = Duration.milliseconds(100)

    private var began: ContinuousClock.Instant?
    private var count = 0
    private var size = 0
    private var spent = Duration.zero

    /// One more message has come.
    ///
    /// - Parameters:
    ///   - bytes: the length of its JSON.
    ///   - time: how much processor time it took to be read.
    /// - Returns: whether more may come in this second.
    mutating func take(_ bytes: Int, in time: Duration, at now: ContinuousClock.Instant) -> Bool {
        if began.map({ now - $0 >= .seconds(1) }) ?? true {
            began = now
            (count, size, spent) = (0, 0, .zero)
        }
        count += 1
        size = min(size, RawBudget.bytes) + min(bytes, RawBudget.bytes)
        spent += time
        return count < RawBudget.messages && size < RawBudget.bytes && spent < RawBudget.time
    }
}
