/// The location of a password, token or user name. An adapter reads the value for each use and keeps no copy.
public struct Secret: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        case environment(String)
        case file(String)
        case text(String)
    }

    package let source: Source

    /// Whether the value is stored inline and therefore is not secret.
    package var isInline: Bool { if case .text = source { true } else { false } }

    /// Returns a reference to an environment variable.
    public static func environment(_ name: String) -> Secret {
        Secret(source: .environment(name))
    }

    /// Returns a reference to a file. One newline at its end is removed, and each use reads the file again.
    public static func file(_ path: String) -> Secret {
        Secret(source: .file(path))
    }

    /// Returns a value that need not be secret, such as a user name. It is kept in memory, but no description shows it.
    public static func text(_ value: String) -> Secret {
        Secret(source: .text(value))
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible {
    /// The location, never the value.
    public var description: String {
        switch source {
        case .environment(let name): "environment variable \(name)"
        case .file(let path): "file \(path)"
        case .text: "value in the configuration"
        }
    }

    /// The location, never the value.
    public var debugDescription: String { description }
}
