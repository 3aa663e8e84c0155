import SignalboxCore

/// What became of a message of our own, as its receiver said.
struct AnswerLine {
    private let json: [UInt8]

    /// - Parameter answer: a JSON object.
    init(_ answer: Bytes) {
        json = JSONText.compact(answer)
    }

    /// One line: an object with the answer as the member `answer`, or words for a person.
    func line(isTerminal: Bool) -> [UInt8] {
        guard !isTerminal else { return TerminalText.line(["answered ", String(decoding: json, as: UTF8.self)]) }
        var object = JSONObject()
        object.add("answer", json: json)
        return object.line
    }
}
