import SignalboxCore

extension RunState {
    /// The most scripts under way: a page that does not react makes the mailbox full, and not memory.
    static let mostScripts = 4
    /// The most pieces of one script, and the bytes after which it takes no more of them.
    static let scriptPieces = 256
    static let scriptBytes = 1_048_576

    /// What a script tells the document of its own messages, and whether it may tell more.
    struct Beginning {
        let pieces: [Piece]
        let takesMail: Bool
    }

    /// What becomes of a script that was written.
    enum Script {
        case given(to: String, grant: FlowCredit.Amount, answers: Int)
        /// There is nothing to say.
        case none
        /// Something came meanwhile.
        case again
    }

    /// Begins a script, if there may be one now.
    mutating func beginScript() -> Beginning? {
        guard life != .over, document != nil, scripts < RunState.mostScripts else {
            isAwake = false
            return nil
        }
        hasMail = false
        let taken = pieces.take(atMost: RunState.scriptPieces, bytes: RunState.scriptBytes) { piece in
            guard case .outcome(_, .handled(let reply), _) = piece else { return 0 }
            return reply?.count ?? 0
        }
        for piece in taken {
            if case .outcome(_, _, let units) = piece { credit.release(units: units) }
        }
        // From now on: what was taken has not been told before the script is done.
        scripts += 1
        return Beginning(pieces: taken, takesMail: !lastWords.haveBegun)
    }

    /// Ends a script that tells so many things, so many of them calls that the document may answer.
    mutating func endScript(telling count: Int, calls: Int) -> Script {
        guard life != .over, var document else {
            scripts = max(0, scripts - 1)
            isAwake = false
            return .none
        }
        guard count > 0 || credit.isGrantDue else {
            scripts -= 1
            if hasMail || !pieces.isEmpty { return .again }
            isAwake = false
            return .none
        }
        document.calls += calls
        self.document = document
        lastWords.countRound()
        return .given(to: document.token, grant: credit.grant(), answers: document.calls)
    }

    mutating func scriptDone() {
        // The process that was to say so may have ended.
        scripts = max(0, scripts - 1)
        if document != nil { wantsWake = true }
    }

    mutating func mailArrived() {
        hasMail = true
        if document != nil { wantsWake = true }
    }
}
