import SignalboxCore

extension WebViewConfiguration {
    /// Checks every range.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration` for the first fault, with what to do.
    public func validate() throws(JSBridgeError) {
        try checkDisplay()
        try checkMessages()
        let hour = Duration.seconds(3_600)
        guard navigationDeadline > .zero, navigationDeadline <= hour else {
            throw fault("the deadline of a navigation is above zero and at most 1 h")
        }
        guard (1...10_000).contains(navigationsWaiting) else { throw fault("the navigations that wait are 1 to 10000") }
        guard unresponsiveLimit >= .seconds(1) else { throw fault("the limit of an unresponsive page is at least 1 s") }
        guard (0...1_000).contains(reloads) else { throw fault("the reloads are 0 to 1000") }
        guard reloadCap > .zero, reloadCap <= hour else {
            throw fault("the longest wait before a reload is above zero and at most 1 h")
        }
        guard consoleLinesPerSecond >= 1 else { throw fault("the console lines a second are at least 1") }
    }

    private func checkDisplay() throws(JSBridgeError) {
        let (width, height) =
            switch display {
            case .offscreen(let width, let height), .window(let width, let height): (width, height)
            }
        guard (1...16_384).contains(width), (1...16_384).contains(height) else {
            throw fault("width and height of the display are 1 to 16384 pixels")
        }
    }

    private func checkMessages() throws(JSBridgeError) {
        guard (1...100_000).contains(messagesInFlight) else { throw fault("the messages in flight are 1 to 100000") }
        guard bytesInFlight >= limits.bytes else {
            throw fault("the bytes in flight are at least the \(limits.bytes) of one message")
        }
        let million = 1...1_000_000
        guard million.contains(messagesWaitingInPage) else {
            throw fault("the messages that wait in the page are 1 to 1000000")
        }
        guard million.contains(messagesToPage) else { throw fault("the messages to the page are 1 to 1000000") }
        guard million.contains(messagesWithoutListener) else {
            throw fault("the messages without a listener are 1 to 1000000")
        }
    }

    private func fault(_ detail: String) -> JSBridgeError {
        JSBridgeError(.invalidConfiguration, detail, source: source)
    }
}
