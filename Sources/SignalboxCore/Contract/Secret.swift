/// The location of a password, token or user name. An adapter reads the value for each use and keeps no copy.
public struct Secret: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        case environment(String)
        case file(String)
        case text(String)
    }

    package let place: Place

    /// Whether the value is stored in place and therefore is not secret.
    package var isWrittenOut: Bool { if case .text = place { true } else { false } }

    /// Returns a reference to an environment variable.
    public static func environment(_ name: String) -> Secret {
        Secret(place: .environment(name))
    }

    /// Returns a reference to a file. One newline at its end is removed, and each use reads the file again.
    public static func file(_ path: String) -> Secret {
        Secret(place: .file(path))
    }

    /// Returns a value that need not be secret, such as a user name. It is kept in memory, but no description shows it.
    public static func text(_ value: String) -> Secret {
        Secret(place: .text(value))
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible {
    /// The location, never the value.
    public var description: String {
        switch place {
        case .environment(let name): "environment variable \(name)"
        case .file(let path): "file \(path)"
        case .text: "value in the configuration"
        }
    }

    /// The location, never the value.
    public var debugDescription: String { description }
}
