/// Why a connection is not read.
struct PauseReasons: OptionSet, Sendable {
    let rawValue: UInt8

    /// Too many of its messages have no outcome yet.
    static let window = PauseReasons(rawValue: 1)
    /// The source's window is full.
    static let room = PauseReasons(rawValue: 2)
    /// The source ends.
    static let end = PauseReasons(rawValue: 4)
}
