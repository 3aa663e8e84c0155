import AdapterThreads
import SignalboxCore

extension PushConnection {
    /// Submits a batch, waits until each of its messages may be acknowledged or is abandoned, and lets the
    /// acknowledgements out, if all may.
    ///
    /// Acknowledgements cannot leave one by one: one abandoned message, or one that was never submitted, makes the whole
    /// batch come again.
    ///
    /// - Returns: how the connection ended, when it did.
    func hold(_ batch: [Arrival], generation: UInt32) -> ConnectionEnd? {
        let began = ContinuousClock.now
        let bearsLoss = receiver.takeBearsLoss()
        sink.begin(generation: generation, count: batch.count)
        sink.expectReplies(batch)
        deliveries?.begin()
        let taken = submit(batch)
        sink.forgetReplies(batch[taken...])
        sink.finishSubmitting(taken: taken)
        while !sink.isDone { pause() }
        let abandoned = sink.abandoned
        deliveries?.end(isSettled: taken == batch.count && abandoned == 0)
        if taken < batch.count { log.leftUnacknowledged(batch.count - taken + abandoned) }
        if taken < batch.count || abandoned > 0 {
            // What is queued is never written; earlier batches' acknowledgements shall reach the broker.
            if pings.isConnected { client.handle.disconnectPastQueue() }
            SocketFarewell(client.handle.socket)?.wait(limit: configuration.farewellTimeout)
            return taken < batch.count || control.isStopping ? .stopped : .abandoned(abandoned)
        }
        if bearsLoss { receiver.owesLoss = false }
        sizing.held(batch.count, for: .now - began)
        guard pings.isConnected else { return .lost("it broke while messages were handled; they may come again") }
        if let end = flush() { return end }
        hasAcknowledged = true
        return nil
    }

    /// Submits until everything is taken or the source must stop.
    private func submit(_ batch: [Arrival]) -> Int {
        var taken = take(batch)
        while taken < batch.count {
            control.wantRoom()
            while control.room == .unknown && !control.isStopping { pause() }
            guard control.room == .free, !control.isStopping else { return taken }
            taken += take(Array(batch[taken...]))
        }
        return taken
    }

    /// Never trusts the answer further than the batch reaches.
    private func take(_ batch: [Arrival]) -> Int {
        min(max(0, intake.submit(batch, to: sink)), batch.count)
    }

    private func pause() {
        let socket = pings.isConnected ? client.handle.socket : -1
        let wait = SocketWait(
            socket: socket,
            for: .hangUp,
            wake: control.wake.readEnd,
            limit: pings.limit(at: .now)
        )
        if wait.isWoken { control.wake.drain() }
        if wait.isClosed { pings.isConnected = false }
        if pings.isDue(at: .now) && !client.handle.ping() { pings.isConnected = false }
    }
}
