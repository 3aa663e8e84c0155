import WebSocketChat

/// What came of a connection, and the status that stands for it.
struct ConnectJudgement {
    let request: ConnectRequest
    /// How the feed ended.
    let end: OrderedSource.End
    /// Why lines were lost, if any were.
    let lost: OutputFailure?
    /// What asked it to stop, if anything did.
    let interruption: CommandStatus?
    /// How many messages were shown.
    let shown: Int
    /// How many lines could not be sent.
    let unsent: Int
    /// How many messages were not handled.
    let notHandled: Int

    private var isFulfilled: Bool { shown >= request.needed }

    /// Tells on stderr what there is to tell.
    ///
    /// - Returns: the status.
    func told() -> CommandStatus {
        let (status, words) = verdict
        for line in words { DiagnosticOutput.shared.tell(line) }
        return status
    }

    /// The status, and what is told on stderr.
    var verdict: (status: CommandStatus, words: [String]) {
        switch lost {
        case .closed?: return (.done, [])
        case let reason?: return (.outputFailed, ["\(reason)"])
        case nil: break
        }
        // What ends a connection after enough messages is of no interest.
        if request.count != nil, isFulfilled { return faults }
        if case .failed(let error) = end {
            return (ConnectJudgement.status(of: error), [(error as? WebSocketChatError)?.detail ?? "\(error)"])
        }
        let messages = "\(shown) of \(request.needed) messages came"
        switch interruption {
        case .timeout?: return isFulfilled ? faults : (.timeout, ["\(messages) in time"])
        case let signal?: return !request.hasNeed || isFulfilled ? faults : (signal, ["\(messages) before the signal"])
        case nil: break
        }
        guard request.count != nil, case .complete = end else { return faults }
        return (.notAsExpected, ["\(messages) before the server closed"])
    }

    /// What makes status 1 when nothing else is wrong. Lines that were not sent were told of one by one.
    private var faults: (status: CommandStatus, words: [String]) {
        var words: [String] = []
        if notHandled > 0 { words.append("messages that were not handled: \(notHandled)") }
        return (unsent + notHandled > 0 ? .notAsExpected : .done, words)
    }

    private static func status(of error: any Error) -> CommandStatus {
        switch (error as? WebSocketChatError)?.ending {
        case .refused?: .refused
        case .notSecured?: .notSecured
        case .brokeProtocol?: .protocolBroken
        case .closed?: .closedWithError
        case .notReached?, .notPrepared?, .lost?, nil: .unavailable
        }
    }
}
