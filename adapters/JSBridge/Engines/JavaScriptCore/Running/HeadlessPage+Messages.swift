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
        guard kind == "returned" else {
            return .failure(PageCallError(answered: kind, text?.text(atMost: PageCallError.longestDetail) ?? ""))
        }
        guard let text else { return .success(nil) }
        let limit = configuration.limits.bytes
        guard text.length <= limit else { return .failure(.answerTooLong(limit: limit)) }
        return .success(Bytes(text.text()))
    }

    /// Ends the script that called a native function, when the page ends at once.
    func heedClose() {
        if control.isClosing && !context.limit.isLastTurn { context.endSoon() }
    }
}
