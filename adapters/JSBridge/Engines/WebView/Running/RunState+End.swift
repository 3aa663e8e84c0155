import SignalboxCore

extension RunState {
    /// The graceful end begins.
    mutating func stop(_ effects: inout RunEffects) {
        guard life == .open else { return }
        life = .stopping
        isWaitingForRoom = false
        wantsRoom = false
        let waiting = [rest] + batches.all
        rest = []
        batches = WaitingLine()
        for batch in waiting { refuse(batch[...], &effects) }
    }

    /// The end, now.
    mutating func end(_ error: JSBridgeError?, _ effects: inout RunEffects) {
        guard life != .over else { return }
        stop(&effects)
        life = .over
        failure = error
        loseDocument(&effects)
        for (token, call) in calls {
            if case .raw(let reply) = call { effects.answers.append((reply, .closed)) }
            calls[token] = .gone
        }
        effects.endsSurface = true
    }

    /// What follows from any change.
    mutating func conclude(_ effects: inout RunEffects) {
        if life == .stopping && calls.isEmpty && !isSubmitting { sayLastWords(&effects) }
        if wantsWake && !isAwake && life != .over {
            isAwake = true
            effects.wakes = true
        }
        wantsWake = false
        if let waiter, let event = takeEvent() {
            self.waiter = nil
            effects.event = (waiter, event)
        }
    }

    /// The page hears every outcome, then that it ends; then it ends.
    private mutating func sayLastWords(_ effects: inout RunEffects) {
        if lastWords.begin() { wantsTimer = true }
        let isSilent = pieces.isEmpty && scripts == 0
        if document == nil || (lastWords.haveEnded && isSilent) { return end(nil, &effects) }
        guard !lastWords.haveEnded, isSilent || lastWords.areTooMany else { return }
        lastWords.end()
        tell(.close)
    }

    /// The next event for the task of the run.
    mutating func takeEvent() -> Event? {
        if life == .over && hasSurfaceEnded && calls.isEmpty && !isSubmitting { return .over }
        if wantsRoom {
            wantsRoom = false
            return .roomWanted
        }
        if wantsTimer {
            wantsTimer = false
            return .lastWords
        }
        return nil
    }
}
