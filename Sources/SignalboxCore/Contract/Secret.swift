/// The location of a password, token or user name.
///
/// Use it in the configuration of an adapter, so that the configuration need not contain the value itself. The adapter
/// reads the value each time it needs it and keeps no copy.
public struct Secret: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        case environment(String)
        case file(String)
        case text(String)
    }

    package let source: Source

    /// Whether the value is part of the configuration and therefore not secret.
    package var isInline: Bool { if case .text = source { true } else { false } }

    /// Returns a reference to an environment variable.
    public static func environment(_ name: String) -> Secret {
        Secret(source: .environment(name))
    }

    /// Returns a reference to a file. Each use reads the file again and removes one newline at its end.
    public static func file(_ path: String) -> Secret {
        Secret(source: .file(path))
    }

    /// Returns a value that need not be secret, such as a user name. The value is kept in memory, but no description
    /// shows it.
    public static func text(_ value: String) -> Secret {
        Secret(source: .text(value))
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible {
    /// The location of the value, never the value itself.
    public var description: String {
        switch source {
        case .environment(let name): "environment variable \(name)"
        case .file(let path): "file \(path)"
        case .text: "value in the configuration"
        }
    }

    /// The location of the value, never the value itself.
    public var debugDescription: String { description }
}
