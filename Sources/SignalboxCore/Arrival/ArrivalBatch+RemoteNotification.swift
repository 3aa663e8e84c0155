extension ArrivalBatch {
    /// Appends the dictionary that the system passes to `application(_:didReceiveRemoteNotification:)`. The dictionary
    /// is encoded as JSON, which becomes the arrival's original and is parsed as ``Envelope/apns``.
    ///
    /// Supported values are `String`, `Bool`, the integer types, finite floating-point numbers, `NSNumber`, `NSNull`,
    /// and arrays and dictionaries of these. Names are sorted by their UTF-8 bytes, so equal notifications produce
    /// equal bytes. Any other value, a name that is not a `String`, or a size or depth beyond ``MessageLimits`` makes
    /// the arrival `malformed`; its original is then the incomplete JSON written so far. ``Envelope/apnsLimit`` does
    /// not apply: the service has enforced it, and the size on the wire is unknown.
    ///
    /// - Parameters:
    ///   - userInfo: The dictionary from the system, read before the call returns.
    ///   - token: The adapter's own token, returned when the arrival is settled.
    ///   - origin: The source and its facts.
    ///   - sender: A channel to the message's sender, if any.
    ///   - receivedAt: The time of receipt.
    ///   - deadline: The latest time to begin, if there is a limit.
    /// - Precondition: The batch stays below 4 GiB.
    public mutating func append(
        remoteNotification userInfo: [AnyHashable: Any],
        token: UInt64,
        origin: Origin,
        sender: (any Sender)? = nil,
        receivedAt: WallTime,
        deadline: ContinuousClock.Instant? = nil
    ) {
        var writer = NotificationWriter(limits: limits)
        do throws(BodyError) {
            try writer.write(userInfo)
            writer.bytes.withUnsafeBytes { bytes in
                append(
                    bytes,
                    token: token,
                    origin: origin,
                    sender: sender,
                    receivedAt: receivedAt,
                    deadline: deadline,
                    envelope: .deliveredPush
                )
            }
        } catch {
            let rejection = Outcome.Rejection(.malformed, error)
            writer.bytes.withUnsafeBytes { bytes in
                append(
                    rejected: rejection,
                    envelope: .apns,
                    original: bytes,
                    token: token,
                    origin: origin,
                    sender: sender,
                    receivedAt: receivedAt
                )
            }
        }
    }
}

/// Encodes the dictionary of a delivered push notification as JSON.
///
/// Handles Foundation's types without importing Foundation. Its numbers and collections cast to Swift's; its booleans,
/// nulls and decimal numbers are recognised by class name. The value alone is not enough: 1 casts to `Bool` too.
struct NotificationWriter {
    private let limits: MessageLimits
    private var text = JSONText()
    /// The names and indices that lead to the current value.
    private var path: [BodyCodingKey] = []

    init(limits: MessageLimits) {
        self.limits = limits
    }

    /// The bytes written: all of the JSON, or the part before the value that failed.
    var bytes: [UInt8] { text.bytes }

    /// - Throws: `tooLarge`, `tooDeep`, `invalidValue` or `nonfiniteNumber`, with the path to the value.
    mutating func write(_ userInfo: [AnyHashable: Any]) throws(BodyError) {
        try write(object: userInfo)
    }

    /// Writes a value recursively, bounded by the depth limit.
    private mutating func write(value: Any) throws(BodyError) {
        if let string = value as? String {
            try reserve(string.utf8.count + 2)
            text.append(string: string)
            try reserve(0)
        } else if let literal = try literal(of: value) {
            try reserve(literal.utf8.count)
            text.append(literal: literal)
        } else if let object = value as? [AnyHashable: Any] {
            try write(object: object)
        } else if let array = value as? [Any] {
            try write(array: array)
        } else {
            throw error(.invalidValue, "expected a value with a JSON form")
        }
    }

    private mutating func write(object: [AnyHashable: Any]) throws(BodyError) {
        try open(UInt8(ascii: "{"))
        var members: [(name: String, value: Any)] = []
        members.reserveCapacity(object.count)
        for (key, value) in object {
            guard let name = key.base as? String else { throw error(.invalidValue, "expected string keys") }
            members.append((name, value))
        }
        members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        for (position, member) in members.enumerated() {
            path.append(BodyCodingKey(stringValue: member.name))
            try reserve(member.name.utf8.count + 4)
            if position > 0 { text.append(UInt8(ascii: ",")) }
            text.append(string: member.name)
            text.append(UInt8(ascii: ":"))
            try write(value: member.value)
            path.removeLast()
        }
        try close(UInt8(ascii: "}"))
    }

    private mutating func write(array: [Any]) throws(BodyError) {
        try open(UInt8(ascii: "["))
        for (position, element) in array.enumerated() {
            path.append(BodyCodingKey(intValue: position))
            if position > 0 { text.append(UInt8(ascii: ",")) }
            try write(value: element)
            path.removeLast()
        }
        try close(UInt8(ascii: "]"))
    }

    /// Returns a boolean, number or null as JSON, or `nil` for any other value.
    private func literal(of value: Any) throws(BodyError) -> String? {
        if let bool = value as? Bool, NotificationWriter.isBool(value) { return bool ? "true" : "false" }
        if let integer = value as? any BinaryInteger { return String(describing: integer) }
        if let number = value as? any BinaryFloatingPoint {
            return try literal(ofNumber: NotificationWriter.double(number))
        }
        let name = String(describing: type(of: value))
        if name == "NSNull" { return "null" }
        if let integer = value as? Int64 { return String(integer) }
        if let integer = value as? UInt64 { return String(integer) }
        if name == "NSDecimalNumber" { return try decimalLiteral("\(value)") }
        guard let number = value as? Double else { return nil }
        return try literal(ofNumber: number)
    }

    /// Returns whether the value's class is a boolean. The value is not enough: 1 also casts to `Bool`.
    private static func isBool(_ value: Any) -> Bool {
        type(of: value) == Bool.self || String(describing: type(of: value)) == "__NSCFBoolean"
    }

    private static func double(_ number: some BinaryFloatingPoint) -> Double { Double(number) }

    private func literal(ofNumber number: Double) throws(BodyError) -> String {
        guard let literal = BodyEncoder.literal(of: number) else {
            throw error(.nonfiniteNumber, "expected a finite number")
        }
        return literal
    }

    /// Returns a decimal number with all its digits, which may exceed the precision of `Double`.
    private func decimalLiteral(_ text: String) throws(BodyError) -> String {
        guard BodyEncoder.isNumber(text) else { throw error(.nonfiniteNumber, "expected a finite number") }
        return text
    }

    private mutating func open(_ bracket: UInt8) throws(BodyError) {
        let depth = path.count + 1
        guard depth <= limits.depth else { throw error(.tooDeep, "expected at most \(limits.depth) levels") }
        try reserve(1)
        text.append(bracket)
    }

    private mutating func close(_ bracket: UInt8) throws(BodyError) {
        try reserve(1)
        text.append(bracket)
    }

    private func reserve(_ more: Int) throws(BodyError) {
        guard text.bytes.count + more <= limits.bytes else {
            throw error(.tooLarge, "expected at most \(limits.bytes) bytes")
        }
    }

    private func error(_ code: BodyError.Code, _ detail: String) -> BodyError {
        guard let first = path.first else { return BodyError(code, detail: detail) }
        let location = BodyPath.text(Array(path.dropFirst()), root: BodyPath.shown(first.stringValue))
        return BodyError(code, path: location, detail: detail)
    }
}
