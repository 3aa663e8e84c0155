import AdapterThreads

extension WebSocketReconnect {
    /// Checks every range.
    func validate() throws(WebSocketChatError) {
        let hour = Duration.seconds(3_600)
        guard first >= .milliseconds(1), first <= cap, cap <= hour else {
            throw WebSocketChatError(.invalidConfiguration, "reconnecting waits 1 ms or more, and at most a cap of 1 h")
        }
        guard slow.lowerBound >= .milliseconds(1), slow.upperBound <= hour else {
            throw WebSocketChatError(.invalidConfiguration, "the slow waits between connections are 1 ms to 1 h")
        }
        guard (.zero...hour).contains(holds) else {
            throw WebSocketChatError(.invalidConfiguration, "a connection counts as good after 0 to 1 h")
        }
    }

    var backoff: ReconnectBackoff {
        ReconnectBackoff(first: first, cap: cap, slow: slow)
    }
}
