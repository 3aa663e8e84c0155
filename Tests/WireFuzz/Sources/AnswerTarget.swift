@testable import AdapterSupport
@testable import SignalboxCore
@testable import WebSocketChat

/// A text message from a peer that was called, as a whole and as a batch. Checks that a reply is JSON within the limits,
/// that an error shows nothing that can harm a terminal, and that only answers to the connection's calls are taken.
enum AnswerTarget {
    private static let limits = MessageLimits()

    static func run(_ input: [UInt8]) {
        // The ids of this process have a random part, which the inputs leave out.
        let text = String(decoding: input, as: UTF8.self)
        let input = text.contains("call-") ? Array(text.replacing("call-", with: PeerAnswer.prefix).utf8) : input
        input.withUnsafeBytes { message in
            check(message)
            guard FrameElements.isArray(message), let ranges = try? FrameElements.ranges(in: message, limit: 256) else {
                return
            }
            for range in ranges { check(UnsafeRawBufferPointer(rebasing: message[range])) }
        }
    }

    private static func check(_ message: UnsafeRawBufferPointer) {
        let calls = ChatCalls()
        require(calls.take(message, limits: limits) == .message, "a connection without calls has no answers")
        guard let answer = PeerAnswer(message, limits: limits) else { return }
        require(message.count <= limits.bytes, "an answer is within the limits")
        if let result = answer.result { check(result) }
        _ = calls.table(bound: 1)
        calls.begin(answer.number ^ 1)
        require(calls.take(message, limits: limits) == .message, "an answer to another number is a message")
        calls.begin(answer.number)
        let verdict = calls.take(message, limits: limits)
        guard answer.result != nil else {
            return require(verdict == .acceptance, "the caller of a message that is accepted goes on waiting")
        }
        require(verdict == .lateAnswer, "an answer without a caller is late")
    }

    private static func check(_ result: ChatCalls.Table.Answer) {
        switch result {
        case .success(let reply):
            guard let reply else { return }
            require((try? Body(json: reply, limits: limits)) != nil, "a reply is JSON")
        case .failure(let error):
            require(error.code == .refused || error.code == .invalidReply, "an answer's error is the peer's")
            require(
                error.detail.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F },
                "a detail is a line"
            )
            require(error.detail.unicodeScalars.count < 4_000, "a detail is short")
        }
    }
}
