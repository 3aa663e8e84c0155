import AdapterThreads
import SignalboxCore

/// What the engine calls on its thread about the page, and what it takes for it.
extension WebViewRun {
    /// A load was committed in the main frame: the document before it is gone. To be called before any text of the new
    /// one is given to ``received(_:)``, as the library's signals come.
    func committed() {
        change { state, effects in state.loseDocument(&effects) }
    }

    /// What is to be evaluated next, in the private world of the main frame. For each, ``scriptDone()`` is to be called
    /// when it was evaluated or has failed.
    func nextScript() -> String? {
        while let beginning = change({ state, _ in state.beginScript() }) {
            var script = RelayScript()
            for piece in beginning.pieces { script.add(piece) }
            let calls = beginning.takesMail ? takeMail(into: &script) : 0
            let count = script.count
            switch change({ state, _ in state.endScript(telling: count, calls: calls) }) {
            case .given(let token, let grant, let answers):
                return script.text(to: token, grant: grant, answers: answers)
            case .none: return nil
            case .again: continue
            }
        }
        return nil
    }

    /// Adds messages from the program.
    ///
    /// - Returns: how many of them are calls.
    private func takeMail(into script: inout RelayScript) -> Int {
        let room = RunState.scriptPieces - script.count
        let bytes = RunState.scriptBytes - script.byteCount
        guard room > 0, bytes > 0 else { return 0 }
        let messages = parts.mailbox.takeMessages(atMost: room, bytes: bytes)
        for message in messages { script.add(message) }
        return messages.count { $0.number != 0 }
    }

    /// A script is done, whether it failed or not.
    func scriptDone() {
        change { state, _ in state.scriptDone() }
    }

    /// The page's process is gone, and every script under way with it.
    func processEnded() {
        parts.counters.add(to: \.processesEnded)
        change { state, effects in
            state.loseDocument(&effects)
            state.scripts = 0
        }
    }

    /// The document's title has changed; `nil` and an empty one are none.
    func titleChanged(_ title: String?) {
        let page = parts.configuration.page
        guard page.overridesTitle else { return }
        guard let title, !title.isEmpty else { return parts.mailbox.call(it: page.title) }
        parts.mailbox.call(it: String(String.UnicodeScalarView(title.unicodeScalars.prefix(WebViewRun.longestTitle))))
    }

    /// The most characters (Unicode scalars) of a title that are kept.
    static let longestTitle = 1_000
}

extension RelayScript {
    fileprivate mutating func add(_ piece: RunState.Piece) {
        switch piece {
        case .outcome(let number, .handled(let reply), _): add(reply: reply, to: number)
        case .outcome(let number, let outcome, _): add(OutcomeRefusal(outcome, to: "page"), of: number)
        case .close: addClose("the page ends")
        }
    }
}
