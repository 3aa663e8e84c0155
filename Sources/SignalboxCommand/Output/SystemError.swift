import Foundation

/// An error number of the operating system (errno(3)).
struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The number.
    let code: Int32

    /// The number that the last failed call of this thread left.
    static var last: SystemError { SystemError(code: errno) }

    /// What was waited for is not wanted any more (ECANCELED).
    static let cancelled = SystemError(code: ECANCELED)

    /// What strerror(3) says.
    var description: String { String(cString: strerror(code)) }
}
