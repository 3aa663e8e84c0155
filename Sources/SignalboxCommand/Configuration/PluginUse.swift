import SignalboxCore

/// What a plugin of a configuration does.
enum PluginUse: Sendable, Hashable {
    /// Writes a log line to stderr.
    case log
    /// Writes a line to stdout; in `bridge` and `send`, whose stdout is outcomes, to stderr.
    case print
    /// Appends a line to the file at this path and returns when it is durable.
    case file(path: String)
    /// Throws, in a way that calls for another attempt or not: for trying what happens to failures.
    case fail(retryable: Bool)
    /// Never returns and ignores cancellation: for trying what happens to calls that hang.
    case suspend
    /// Does nothing and answers this.
    case reply(ReplyValue)

    /// Sends the same back: text and bytes as a message, JSON as the reply.
    case echo
    /// Sends the action to every connection that has the tag; `nil`: the tag that the body names.
    case broadcast(tag: String?)
    /// Gives the connection the tag; `nil`: the one that the body names.
    case join(tag: String?)
    /// Takes the tag away; `nil`: the one that the body names.
    case leave(tag: String?)
    /// Publishes the action's body through a broker's source, and returns when the broker has it.
    case publish(PublishSection)

    /// What happens to an action while the plugin does not answer: one that must not be lost is given back.
    var whenUnavailable: RetryExhaustion {
        switch self {
        case .file, .publish: .abandon
        default: .deadLetter
        }
    }

    /// Those that can have a tag.
    static let withTags = ["broadcast", "join", "leave"]

    /// The words after `use:`, in the order in which messages list them.
    static let words = [
        "log", "print", "file", "fail", "suspend", "reply", "echo", "broadcast", "join", "leave", "publish",
    ]
}
