import SignalboxCore

extension ConformanceTrial {
    /// Each of the messages reached a plugin once, with the body it was sent with, and no other did.
    func checkEachOnce(_ messages: [ConformanceMessage], since first: Int = 0) {
        let calls = record.value.calls.dropFirst(first)
        let counts = calls.reduce(into: [String: Int]()) { $0[$1.id, default: 0] += 1 }
        let sent = Set(messages.map(\.id.text))
        report("every message reaches its plugin", messages.map(\.id.text).filter { counts[$0] == nil }, "did not")
        report("every message comes once", messages.map(\.id.text).filter { counts[$0, default: 0] > 1 }, "came again")
        report("only what was sent comes", counts.keys.filter { !sent.contains($0) }.sorted(), "came too")
        let bodies = messages.reduce(into: [String: String]()) { $0[$1.id.text] = $1.body }
        let altered = calls.filter { call in
            guard let body = call.body, let written = try? BodyWriter.write(body) else { return false }
            return bodies[call.id].map { Bytes($0) != written } ?? false
        }
        report("bodies arrive as they were sent", altered.map(\.id), "were altered")
    }

    /// Per action, the calls came in the order of the messages; so did the arrivals that were taken.
    func checkOrder(_ messages: [ConformanceMessage], in run: Int) {
        let record = record.value
        for action in Set(messages.compactMap(\.action)) {
            let sent = messages.filter { $0.action == action }.map(\.id.text)
            let seen = record.calls.filter { $0.run == run && $0.action == action }.map(\.id)
            reportOrder("plugin \(action) sees the order of sending", sent, seen)
        }
        let taken = record.runs[run].taken.compactMap { $0 }
        reportOrder("arrivals are submitted in the order of sending", messages.map(\.id.text), taken)
    }

    /// What became of each message, by the word of its outcome, told once.
    func checkOutcomes(_ expected: [(message: ConformanceMessage, word: String)]) {
        let told = record.value.told.reduce(into: [String: [String]]()) { told, one in
            if let id = one.id { told[id, default: []].append(one.word) }
        }
        let wrong = expected.filter { told[$0.message.id.text] != [$0.word] }
        report(
            "each message has its outcome, once",
            wrong.map { "\($0.message.id) \(told[$0.message.id.text] ?? []) instead of \($0.word)" },
            "was different"
        )
    }

    /// A message that was sent twice has its outcome twice, and no third time.
    func checkTwice(_ message: ConformanceMessage, _ word: String) {
        let told = record.value.told.filter { $0.id == message.id.text }.map(\.word)
        if told != [word, word] {
            found("a message that is sent twice has the outcome \(word) twice", "\(message.id): \(told)")
        }
    }

    /// What the far side was answered to each message.
    func checkAnswer(
        to message: ConformanceMessage,
        _ expected: String,
        _ isExpected: (ConformanceAnswer) -> Bool
    ) async throws {
        let answer = try await record.during("waiting for the answer to \(message.id)") {
            try await subject.answer(to: message.id)
        }
        if !isExpected(answer) { found("the answer to \(message.id) is \(expected)", "\(answer.text)") }
    }

    func checkAnswer(to message: ConformanceMessage, isError code: String) async throws {
        try await checkAnswer(to: message, "an error with code \(code)") { $0 == .error(code: code) }
    }

    /// A plugin's answer is the number in the message's body.
    func checkReply(to message: ConformanceMessage) async throws {
        let number = try Body(json: Bytes(message.body)).decode(ConformanceBody.self).number
        try await checkAnswer(to: message, "the reply \(number)") { answer in
            guard case .reply(let reply?) = answer else { return false }
            return (try? Body(json: reply).decode(Int.self)) == number
        }
    }

    /// Everything so far is over and done with: in a new run, with a new supervisor, only what is sent then comes, also
    /// of what no plugin is called for.
    func checkNothingComesAgain() async throws {
        let before = record.value.calls.count
        let number = record.value.runs.count
        let marker = message(ConformanceStage.recording)
        try await run { [self] stage in try await deliver([marker], to: stage) }
        checkEachOnce([marker], since: before)
        checkOutcomes([(marker, "handled")])
        let others = record.value.told.filter { $0.run == number && $0.id != marker.id.text }
        report(
            "what is settled does not come again in the next run",
            others.map { "\($0.id ?? "an unreadable message") (\($0.word))" },
            "did"
        )
    }

    func report(_ expected: String, _ exceptions: [String], _ what: String) {
        guard !exceptions.isEmpty else { return }
        let more = exceptions.count > 5 ? " and \(exceptions.count - 5) more" : ""
        found(expected, "\(exceptions.prefix(5).joined(separator: ", "))\(more) \(what)")
    }

    private func reportOrder(_ expected: String, _ sent: [String], _ seen: [String]) {
        let places = Dictionary(zip(sent, sent.indices), uniquingKeysWith: { first, _ in first })
        var last = -1
        for id in seen {
            guard let place = places[id] else { continue }
            if place <= last { return found(expected, "\(id) after \(sent[last])") }
            last = place
        }
    }
}

extension ConformanceAnswer {
    fileprivate var text: String {
        switch self {
        case .reply(let reply): "the reply \(reply.map { String(decoding: $0, as: UTF8.self) } ?? "nothing")"
        case .error(let code): "an error with code \(code)"
        }
    }
}
