/// Decides when to try which address of a server, so that an unreachable family of addresses costs little time (RFC 8305).
///
/// The race does no input or output. Its owner starts the attempts that ``next(at:)`` names, reports those that failed,
/// and ends the race by taking the first connection.
package struct AddressRace {
    /// The time between the starts of two attempts while none has failed (RFC 8305, 5).
    package static let delay = Duration.milliseconds(250)
    /// The maximum number of addresses to try for one host.
    package static let limit = 16

    private let addresses: [String]
    private let delay: Duration
    private var started = 0
    private var failed = 0
    /// When the next attempt may start, or `nil` if it may start at once.
    private var earliest: ContinuousClock.Instant?

    /// - Parameter addresses: Numeric addresses, in the system's order of preference. Only the first ``limit`` of the
    ///   interleaved ones are tried.
    package init(_ addresses: [String], delay: Duration = AddressRace.delay) {
        self.addresses = Array(AddressRace.interleaved(addresses).prefix(AddressRace.limit))
        self.delay = delay
    }

    /// The number of attempts in progress.
    package var running: Int { started - failed }

    /// Whether each address was tried and has failed.
    package var isLost: Bool { failed == addresses.count }

    /// When to call ``next(at:)`` again, or `nil` if only a failure or a connection can change anything. The time may be
    /// in the past.
    package var wakeUp: ContinuousClock.Instant? { started < addresses.count ? earliest : nil }

    /// Returns the address of an attempt to start now, or `nil` if none is due. Call this method until it returns `nil`.
    package mutating func next(at now: ContinuousClock.Instant) -> String? {
        guard started < addresses.count else { return nil }
        if let earliest, now < earliest { return nil }
        defer { started += 1 }
        earliest = now + delay
        return addresses[started]
    }

    /// Records that an attempt in progress has failed. The next one may start at once.
    package mutating func attemptFailed() {
        guard running > 0 else { return }
        failed += 1
        earliest = nil
    }

    /// Returns the addresses with their families in turn, beginning with the first one's, so that neither family is
    /// tried twice while the other waits (RFC 8305, 4). Each family keeps its order.
    static func interleaved(_ addresses: [String]) -> [String] {
        guard let first = addresses.first else { return [] }
        let startsWithIPv6 = isIPv6(first)
        let preferred = addresses.filter { isIPv6($0) == startsWithIPv6 }
        let others = addresses.filter { isIPv6($0) != startsWithIPv6 }
        var result: [String] = []
        for index in 0..<max(preferred.count, others.count) {
            if index < preferred.count { result.append(preferred[index]) }
            if index < others.count { result.append(others[index]) }
        }
        return result
    }

    private static func isIPv6(_ address: String) -> Bool { address.utf8.contains(UInt8(ascii: ":")) }
}
