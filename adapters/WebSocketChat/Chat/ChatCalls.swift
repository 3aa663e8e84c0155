import AdapterSupport
import SignalboxCore
import Synchronization

/// One connection's calls that wait for the peer's answers.
///
/// It is a part of the connection. A connection that calls nothing has no table. Safe to use from any thread.
struct ChatCalls: ~Copyable, Sendable {
    typealias Table = AnswerTable<Bytes?, ChatCallError>

    /// What a message of the peer is.
    enum Verdict: Equatable {
        /// It answers no call of this connection.
        case message
        /// It has ended a call.
        case answer
        /// It says that the peer has accepted a call, whose outcome follows.
        case acceptance
        /// It answers a call that has already ended.
        case lateAnswer
    }

    /// How long after its timeout the answer to a call counts as late. After that it is a message, as messages are no longer
    /// searched for answers.
    static let lateness: Duration = .seconds(60)

    // Not private: the connection, in another file, stores this value, and Swift 6.3.1 then needs the type there.
    struct State {
        var table: Table?
        var isClosed = false
        /// The numbers of the first and the last call.
        ///
        /// Other connections use numbers in between. Answers under those count as late, too.
        var numbers: ClosedRange<UInt64>?
        /// The number of calls whose answer has not arrived. The caller may have stopped waiting for it.
        ///
        /// A peer has one answer for each call. What it sends beyond that takes a place in the windows, as every message
        /// does.
        var unanswered = 0
        /// How many acceptances may follow. A peer has one for each call that it has not answered.
        var acceptances = 0
        /// When the answers that are missing are no longer expected.
        var end: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    // Checked for each message, so it is kept outside the lock.
    private let awaits = Atomic(false)

    /// Returns whether an answer of the peer is missing. If not, no message of the peer can be an answer.
    func awaitAnswers(now: @autoclosure () -> ContinuousClock.Instant = .now) -> Bool {
        guard awaits.load(ordering: .acquiring) else { return false }
        let now = now()
        return state.withLock { state in
            forget(&state, at: now)
            return state.unanswered > 0
        }
    }

    /// Stops expecting answers that are later than late.
    private func forget(_ state: inout State, at now: ContinuousClock.Instant) {
        guard let end = state.end, now >= end else { return }
        change(&state, by: -state.unanswered)
        state.end = nil
    }

    // MARK: - The callers' tasks

    /// Returns the table of the callers, or `nil` if the connection has ended.
    ///
    /// - Parameter bound: The maximum number of waiting callers.
    func table(bound: Int) -> Table? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            if let table = state.table { return table }
            let table = Table(bound: bound, failures: .peer)
            state.table = table
            return table
        }
    }

    /// Records a call's number. The caller does this before it sends the call, so that no answer can precede it.
    ///
    /// - Parameter timeout: How long the caller waits.
    func begin(_ number: UInt64, within timeout: Duration = .zero, now: ContinuousClock.Instant = .now) {
        state.withLock { state in
            forget(&state, at: now)
            let end = now + timeout + ChatCalls.lateness
            state.end = state.end.map { max($0, end) } ?? end
            let numbers = state.numbers ?? number...number
            state.numbers = min(numbers.lowerBound, number)...max(numbers.upperBound, number)
            change(&state, by: 1)
            state.acceptances += 1
        }
    }

    /// Withdraws a call that could not be sent.
    func withdraw() {
        state.withLock { change(&$0, by: -1) }
    }

    private func change(_ state: inout State, by difference: Int) {
        state.unanswered = max(0, state.unanswered + difference)
        state.acceptances = min(state.acceptances, state.unanswered)
        awaits.store(state.unanswered > 0, ordering: .releasing)
    }

    // MARK: - The service's thread

    /// Ends the call that a message answers.
    ///
    /// - Parameters:
    ///   - message: A text message, or an element of a batch. It is copied if it may be an answer.
    ///   - limits: The limits of the source's messages.
    func take(_ message: UnsafeRawBufferPointer, limits: MessageLimits) -> Verdict {
        guard let answer = PeerAnswer(message, limits: limits) else { return .message }
        guard let result = answer.result else { return takeAcceptance(of: answer.number) }
        let table = state.withLock { state -> Table? in
            guard state.unanswered > 0, state.numbers?.contains(answer.number) == true else { return nil }
            change(&state, by: -1)
            return state.table
        }
        guard let table else { return .message }
        return table.finish(answer.number, result) ? .answer : .lateAnswer
    }

    /// The caller goes on waiting for the outcome.
    private func takeAcceptance(of number: UInt64) -> Verdict {
        state.withLock { state in
            guard state.acceptances > 0, state.numbers?.contains(number) == true else { return .message }
            state.acceptances -= 1
            return .acceptance
        }
    }

    /// Fails all calls and all later ones, because the peer can answer nothing more. Safe to use from any thread.
    func end() {
        let table = state.withLock { state in
            state.isClosed = true
            return state.table
        }
        table?.failAll(isLast: true)
    }
}

extension ChatCalls.Table.Failures {
    fileprivate static let peer = ChatCalls.Table.Failures(
        closed: .closed,
        cancelled: ChatCallError(.closed, "the caller was cancelled"),
        full: { ChatCallError(.full, "the limit of \($0) calls that wait for the peer's answers is reached") },
        timeout: { ChatCallError(.timeout, "no answer within \($0.secondsDescription)") }
    )
}

/// A peer's answer to a call: `{"id", "outcome", "reply" | "error"}`, as Signalbox sends it. A peer with a journal first
/// answers with the outcome `accepted`.
struct PeerAnswer {
    // Random, because a peer that recognizes duplicates by their ids must not take a call of another process for one.
    static let prefix = "call-\(String(UInt64.random(in: 0...UInt64.max), radix: 36))-"
    // `outcome"` as an integer. Every answer contains this text, and few other messages do, so only those are decoded.
    // An answer that escapes a character of the name is not recognized.
    private static let mark = UInt64(littleEndian: 0x2265_6D6F_6374_756F)

    let number: UInt64
    /// The call's result, or `nil` if the peer has accepted the call and its outcome follows.
    let result: ChatCalls.Table.Answer?

    /// - Returns: `nil` if the message is not an answer to a call.
    init?(_ message: UnsafeRawBufferPointer, limits: MessageLimits) {
        guard PeerAnswer.hasMark(message),
            let members = try? Body(json: Bytes(Array(message)), limits: limits).decode(Members.self),
            members.action == nil, let number = PeerAnswer.number(of: members.id)
        else { return nil }
        self.number = number
        result = members.result
    }

    /// Returns the id of a call.
    static func id(of number: UInt64) -> ActionID? { ActionID(text(of: number)) }

    private static func text(of number: UInt64) -> String { prefix + String(number, radix: 36) }

    /// Returns the number of the call with this id, or `nil` if no call has this id.
    private static func number(of id: String) -> UInt64? {
        guard id.hasPrefix(prefix), let number = UInt64(id.dropFirst(prefix.count), radix: 36) else { return nil }
        // Only one spelling of each number is an id.
        return text(of: number) == id ? number : nil
    }

    private static func hasMark(_ message: UnsafeRawBufferPointer) -> Bool {
        let last = message.count - MemoryLayout<UInt64>.size
        guard last >= 0 else { return false }
        return (0...last).contains { message.loadUnaligned(fromByteOffset: $0, as: UInt64.self) == mark }
    }

    private struct Members: Decodable {
        let id: String
        let outcome: String
        let reply: RawBody?
        let error: RawBody?
        /// An action of the peer may have an `outcome`, too.
        let action: RawBody?

        var result: ChatCalls.Table.Answer? {
            switch outcome {
            case AnswerWriter.acceptance: nil
            case "handled": .success(reply?.bytes)
            case "rejected", "failed", "abandoned":
                .failure(ChatCallError(outcome, error.flatMap { try? Body(json: $0.bytes).decode(PeerError.self) }))
            default:
                .failure(
                    ChatCallError(.invalidReply, "the peer answered with outcome \(UntrustedText.quoted(outcome))")
                )
            }
        }
    }
}

/// The error in a peer's answer.
struct PeerError: Decodable {
    let code: String?
    let message: String?
}
