extension JavaScriptCoreConfiguration {
    /// Checks every range.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration` for the first fault, with what to do.
    public func validate() throws(JSBridgeError) {
        guard executionTimeLimit > .zero, executionTimeLimit <= .seconds(3_600) else {
            throw fault("the execution time limit is above zero and at most 1 h")
        }
        guard heapLimit >= 1_048_576 else { throw fault("the heap limit is at least 1 MiB") }
        guard (1...1_000_000).contains(timerLimit) else { throw fault("the timer limit is 1 to 1000000") }
        guard (1...1_000_000).contains(messagesToPage) else { throw fault("the messages to the page are 1 to 1000000") }
        guard (1...1_000_000).contains(messagesWithoutListener) else {
            throw fault("the messages without a listener are 1 to 1000000")
        }
        guard (1...1_000).contains(batchMessages) else { throw fault("the messages of a batch are 1 to 1000") }
        if let process {
            guard process.program.hasPrefix("/") else {
                throw fault("the program of the page's process must be an absolute path")
            }
            guard process.memoryLimit >= 64 << 20 else {
                throw fault("the memory limit of a process must be at least 64 MiB")
            }
        }
        guard consoleLinesPerSecond >= 1 else { throw fault("the console lines a second are at least 1") }
    }

    private func fault(_ detail: String) -> JSBridgeError {
        JSBridgeError(.invalidConfiguration, detail, source: source)
    }
}
