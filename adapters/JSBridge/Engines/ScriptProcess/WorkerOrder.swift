import SignalboxCore

/// What a page's process is told to run.
struct WorkerOrder: Codable, Equatable {
    struct Script: Codable, Equatable {
        let name: String
        let source: String
    }

    let scripts: [Script]
    let title: String?
    let endsWhenIdle: Bool
    let turnMilliseconds: Int64
    let heapLimit: Int
    let timerLimit: Int
    let messagesToPage: Int
    let messagesWithoutListener: Int
    let batchMessages: Int
    let messageBytes: Int
    let messageDepth: Int
    let consoleLines: Int

    init(_ configuration: JavaScriptCoreConfiguration) {
        scripts = configuration.scripts.map { Script(name: $0.name, source: $0.source) }
        title = configuration.title
        endsWhenIdle = configuration.endsWhenIdle
        let turn = configuration.executionTimeLimit.components
        turnMilliseconds = max(1, turn.seconds * 1_000 + turn.attoseconds / 1_000_000_000_000_000)
        heapLimit = configuration.heapLimit
        timerLimit = configuration.timerLimit
        messagesToPage = configuration.messagesToPage
        messagesWithoutListener = configuration.messagesWithoutListener
        batchMessages = configuration.batchMessages
        messageBytes = configuration.limits.bytes
        messageDepth = configuration.limits.depth
        consoleLines = configuration.consoleLinesPerSecond
    }

    /// The page as the process runs it. Only the program needs its source's name.
    var configuration: JavaScriptCoreConfiguration {
        var configuration = JavaScriptCoreConfiguration(
            source: "page",
            scripts: scripts.map { PageScript(name: $0.name, source: $0.source) }
        )
        configuration.title = title
        configuration.endsWhenIdle = endsWhenIdle
        configuration.executionTimeLimit = .milliseconds(turnMilliseconds)
        configuration.heapLimit = heapLimit
        configuration.timerLimit = timerLimit
        configuration.messagesToPage = messagesToPage
        configuration.messagesWithoutListener = messagesWithoutListener
        configuration.batchMessages = batchMessages
        configuration.limits = MessageLimits(bytes: messageBytes, depth: messageDepth)
        configuration.consoleLinesPerSecond = consoleLines
        return configuration
    }
}
