import AdapterThreads

extension FeedRun {
    func prepare() {
        attempt += 1
        let until = now + configuration.connectTimeout
        guard FeedPreparation.mayBlock(configuration) else {
            phase = .preparing(until: until, nil)
            return prepared(FeedPreparation.make(configuration) { _ in .failure(.notResolved("")) }, attempt: attempt)
        }
        let ticket = plan.surroundings.lookups.perform { [plan, attempt] in
            let result = FeedPreparation.make(plan.configuration, resolve: plan.surroundings.resolve)
            plan.service.post(.prepared(plan, attempt: attempt, result))
        } noThread: { [plan, attempt] missing in
            plan.service.post(.prepared(plan, attempt: attempt, .failure(.notResolved(missing.description))))
        }
        phase = .preparing(until: until, ticket)
    }

    func prepared(_ result: Result<FeedPreparation, FeedEnd>, attempt: UInt64) {
        guard case .preparing = phase, attempt == self.attempt else { return }
        switch result {
        case .success(let preparation): connect(preparation, 0)
        case .failure(let end): failed(end)
        }
    }

    private func connect(_ preparation: FeedPreparation, _ index: Int) {
        let target = preparation.target(preparation.addresses[index], configuration)
        let id = dispatcher.connect(to: target, for: self)
        phase = .connecting(id, until: now + configuration.connectTimeout, preparation, index: index)
    }

    func opened(_ id: ConnectionID, _ handshake: Handshake) {
        guard case .connecting(id, _, _, _) = phase else { return }
        if let end = fault(of: handshake) {
            giveUp(id)
            return failed(end)
        }
        for text in configuration.openingMessages where sender.send(Array(text.utf8), .text, on: id) != .accepted {
            // They were counted before; only a connection that is gone already does not take them, and tells so.
            return
        }
        phase = .open
        wasConnected = true
        beginReading(id, handshake)
        // Last, as programs wait for this line.
        log.connected(handshake)
    }

    // RFC 6455, 4.1: an answer with a subprotocol that was not asked for fails the connection. One without any is allowed
    // there, and fails it in browsers, as what the frames mean would be a guess.
    private func fault(of handshake: Handshake) -> FeedEnd? {
        guard let agreed = handshake.subprotocol else {
            return configuration.subprotocols.isEmpty ? nil : .wrongSubprotocol(nil)
        }
        return configuration.subprotocols.contains(agreed) ? nil : .wrongSubprotocol(agreed)
    }

    /// No connection was made.
    func failed(_ end: FeedEnd, _ preparation: FeedPreparation, _ index: Int) {
        if end.concernsAddress && index + 1 < preparation.addresses.count { return connect(preparation, index + 1) }
        failed(end)
    }

    func failed(_ end: FeedEnd) {
        plan.state.count { $0.failures += 1 }
        ended(end)
    }

    /// The wait after a connection, or the end of the run.
    func ended(_ end: FeedEnd) {
        attempt += 1
        if !wasConnected && (configuration.firstConnectionMustSucceed || configuration.reconnect == nil) {
            return halt(.notConnected, end)
        }
        guard configuration.reconnect != nil else { return halt(end.isNormalClose ? nil : .ended, end) }
        let share = plan.surroundings.share()
        let wait = backoff?.next(isConfigurationFault: end.isConfigurationFault, share: share) ?? .zero
        log.ended(end, nextTry: wait)
        phase = .waiting
        plan.wait(FeedWait(duration: wait, attempt: attempt))
    }

    private func halt(_ code: WebSocketChatError.Code?, _ end: FeedEnd) {
        if let code {
            let sentence = end.sentence(about: configuration.url)
            error = WebSocketChatError(code, sentence, source: configuration.source).with(end.ending)
        }
        halt()
    }

    func due(attempt: UInt64) {
        guard case .waiting = phase, attempt == self.attempt else { return }
        prepare()
    }
}
