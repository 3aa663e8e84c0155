import ArgumentParser

/// The arguments of a command that takes a configuration beside other arguments. A configuration's name ends in `.yaml`
/// or `.yml`, or is that of a descriptor, such as `/dev/stdin`.
struct MixedArguments {
    /// The other arguments, in order.
    let others: [String]
    private let configurations: [String]

    init(_ arguments: [String]) {
        let isConfiguration = { (text: String) in
            !text.contains("://")
                && (text.hasSuffix(".yaml") || text.hasSuffix(".yml") || text == "/dev/stdin"
                    || text.hasPrefix("/dev/fd/"))
        }
        configurations = arguments.filter(isConfiguration)
        others = arguments.filter { !isConfiguration($0) }
    }

    /// The configuration's path, or `nil` if no argument names one.
    var configuration: String? { configurations.first }

    /// Checks the first argument of a command whose first argument is a configuration. Otherwise, the error about a file that
    /// cannot be read would repeat a URL or a message, which may contain a secret.
    static func validate(first text: String) throws(ValidationError) {
        guard !text.contains("://"), !text.contains("?"), !text.hasPrefix("{"), !text.hasPrefix("[") else {
            throw ValidationError("the first argument is not the name of a file; the configuration comes first")
        }
    }

    /// - Parameter source: The value of `--source`, which requires a configuration.
    /// - Throws: `ValidationError` also if there are several configurations.
    func validate(source: String?) throws(ValidationError) {
        guard configurations.count <= 1 else { throw ValidationError("expected only one configuration") }
        guard source == nil || !configurations.isEmpty else {
            throw ValidationError("--source names a source of a configuration; add the configuration's file")
        }
    }
}

extension CompletionKind {
    /// The files that may be a configuration.
    static var configuration: CompletionKind { .file(extensions: ["yaml", "yml"]) }
}
