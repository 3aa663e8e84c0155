import SignalboxCore

extension HeadlessPage {
    /// Tells the page what became of a message of its own.
    func tell(_ number: UInt64, _ outcome: Outcome) {
        guard let functions else { return }
        turn { functions.settle(number, outcome) }
    }

    /// Gives the page a message from the program.
    func receive(_ message: PageMessage) {
        guard let functions else { return }
        turn { functions.deliver(message) }
    }

    func fire(_ timer: Int) {
        guard let functions else { return }
        turn { functions.fireTimer(timer) }
    }

    /// The page answers a call from the program.
    func answered(_ number: UInt64, _ kind: String, _ text: consuming ScriptText?) {
        mailbox.finish(number, answer(kind, text))
    }

    private func answer(_ kind: String, _ text: consuming ScriptText?) -> Result<Bytes?, PageCallError> {
        switch kind {
        case "returned":
            guard let text else { return .success(nil) }
            guard text.length <= configuration.limits.bytes else {
                let limit = configuration.limits.bytes
                return .failure(PageCallError(.invalidReply, "the answer has more than \(limit) bytes"))
            }
            return .success(Bytes(text.text()))
        case "threw": return .failure(PageCallError(.threw, text?.text(atMost: 500) ?? ""))
        case "full": return .failure(PageCallError(.full, text?.text(atMost: 500) ?? ""))
        default: return .failure(PageCallError(.invalidReply, text?.text(atMost: 500) ?? ""))
        }
    }

    /// Ends the script that called a native function, when the page ends at once.
    func heedClose() {
        if control.isClosing && !context.limit.isLastTurn { context.endSoon() }
    }
}
