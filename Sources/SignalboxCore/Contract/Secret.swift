/// Where to find a password, token or user name.
///
/// Use a `Secret` in an adapter's configuration, so that the configuration does not have to contain the value itself.
/// The adapter reads the value each time it needs the value, and keeps no copy.
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

    /// Returns a reference to a file. The file is read again for each use, and one newline at its end is removed.
    public static func file(_ path: String) -> Secret {
        Secret(source: .file(path))
    }

    /// Returns a value that does not have to be secret, such as a user name. The value is kept in memory but never
    /// appears in descriptions.
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
