import SignalboxCore

extension ConformanceTrial {
    func throwingPlugin() async throws {
        try await tryEveryThird(ConformanceStage.failing, becomes: "threw")
    }

    func unknownAction() async throws {
        try await tryEveryThird(ConformanceStage.unknown, becomes: "unknownAction")
    }

    func forbiddenSource() async throws {
        try await tryEveryThird(ConformanceStage.forbidden, becomes: "sourceNotAllowed")
        let calls = record.value.calls.count { $0.action == ConformanceStage.forbidden }
        if calls > 0 { found("a plugin that does not allow the source is never called", "\(calls) calls") }
    }

    func malformedArrival() async throws {
        let messages = messages(30, everyThird: nil)
        try await runInTwoParts(messages)
        let rejected = record.value.told.filter { $0.word == "malformed" }
        let unreadable = messages.filter { $0.action == nil }.map(\.id.text)
        if rejected.count != unreadable.count {
            found("\(unreadable.count) unreadable messages are rejected as malformed", "\(rejected.count)")
        }
        let originals = rejected.compactMap(\.original)
        report(
            "the original bytes of a rejected arrival contain the id that was sent",
            unreadable.filter { id in !originals.contains { $0.contains(id) } },
            "was in none"
        )
        checkEachOnce(messages.filter { $0.action != nil })
        try await checkNothingComesAgain()
    }

    func answersEverySender() async throws {
        let kinds: [(action: ActionName?, word: String)] = [
            (ConformanceStage.recording, "handled"), (ConformanceStage.failing, "threw"),
            (ConformanceStage.unknown, "unknownAction"), (ConformanceStage.forbidden, "sourceNotAllowed"),
            (nil, "malformed"), (ConformanceStage.recordingToo, "handled"),
        ]
        let sent = (0..<10).flatMap { _ in kinds.map { (message: message($0.action), word: $0.word) } }
        let unfit = message(ConformanceStage.recording)
        let invalid = ConformanceMessage(id: unfit.id, action: unfit.action, body: "true")
        let last = message(ConformanceStage.recording)
        try await run { [self] stage in
            try await deliver(sent.map(\.message) + [invalid, last], to: stage)
            for (message, word) in sent where word != "handled" {
                try await checkAnswer(to: message, isError: word)
            }
            try await checkAnswer(to: invalid, isError: "invalidBody")
            for message in sent.filter({ $0.word == "handled" }).map(\.message) + [last] {
                try await checkReply(to: message)
            }
        }
    }

    /// The second part shows that the first did the source no harm.
    private func runInTwoParts(_ messages: [ConformanceMessage]) async throws {
        try await run { [self] stage in
            try await deliver(Array(messages.prefix(15)), to: stage)
            try await deliver(Array(messages.dropFirst(15)), to: stage)
        }
    }

    /// Every third message has an outcome other than `handled`; the rest is handled, and nothing comes again.
    private func tryEveryThird(_ action: ActionName, becomes word: String) async throws {
        let messages = messages(30, everyThird: action)
        try await runInTwoParts(messages)
        checkOutcomes(messages.map { ($0, $0.action == action ? word : "handled") })
        checkEachOnce(messages.filter { $0.action == ConformanceStage.recording || word == "threw" })
        try await checkNothingComesAgain()
    }
}
