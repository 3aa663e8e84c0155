/// A password, token or user name by where it is kept: never by its value, which an adapter reads anew for each use and
/// forgets.
public struct Secret: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        case environment(String)
        case file(String)
        case text(String)
    }

    package let place: Place

    /// Whether the value is written out in place, and so is not secret.
    package var isWrittenOut: Bool { if case .text = place { true } else { false } }

    /// The value of an environment variable.
    public static func environment(_ name: String) -> Secret {
        Secret(place: .environment(name))
    }

    /// The content of a file without one newline at its end; changed content counts from the next use on.
    public static func file(_ path: String) -> Secret {
        Secret(place: .file(path))
    }

    /// A value that may be known, such as a user name: it is kept in memory. Still no description shows it.
    public static func text(_ value: String) -> Secret {
        Secret(place: .text(value))
    }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible {
    /// The place, never the value.
    public var description: String {
        switch place {
        case .environment(let name): "environment variable \(name)"
        case .file(let path): "file \(path)"
        case .text: "value in the configuration"
        }
    }

    /// The place, never the value.
    public var debugDescription: String { description }
}
