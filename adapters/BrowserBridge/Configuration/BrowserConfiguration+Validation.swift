import SignalboxCore

extension BrowserConfiguration {
    /// Checks every range, and that the values go together. Opens no file and no port.
    ///
    /// - Throws: ``BrowserBridgeError`` `invalidConfiguration` for the first fault, with what to do.
    public func validate() throws(BrowserBridgeError) {
        guard host != nil || !["::", "0.0.0.0"].contains(address) else {
            throw fault("\(address) is every address of the machine: name the host by which browsers reach it")
        }
        guard (1...100_000).contains(connections) else { throw fault("the connections are 1 to 100000") }
        guard (1...4_000).contains(messagesInFlight) else { throw fault("the messages in flight are 1 to 4000") }
        guard (1...1_000_000).contains(messagesWaitingInPage) else {
            throw fault("the messages waiting in a page are 1 to 1000000")
        }
        guard (1...1_000_000).contains(messagesToPage) else { throw fault("the messages to a page are 1 to 1000000") }
        guard (1...1_000_000).contains(messagesWithoutListener) else {
            throw fault("the messages without a listener are 1 to 1000000")
        }
        for (name, duration) in [("patience", connectionPatience), ("longest wait", reconnectCap)]
        where !(Duration.milliseconds(1) ... .seconds(3_600)).contains(duration) {
            throw fault("a page's \(name) for a connection is 1 ms to 1 h")
        }
        guard limits.bytes <= 1 << 30 - 1 << 20 else {
            throw fault("the limit of a message is at most 1 MiB less than 1 GiB")
        }
        guard documents.count <= 99 else { throw fault("a site has at most 99 documents") }
        guard documents[BrowserConfiguration.scriptPath] == nil else {
            throw fault("a document stands where the bridge is, at \(BrowserConfiguration.scriptPath); move it")
        }
    }

    func fault(_ detail: String) -> BrowserBridgeError {
        BrowserBridgeError(.invalidConfiguration, detail, source: source)
    }
}
