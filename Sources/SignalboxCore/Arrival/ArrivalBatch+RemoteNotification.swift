extension ArrivalBatch {
    /// Appends what the system hands to `application(_:didReceiveRemoteNotification:)`: the dictionary is written as
    /// JSON, which is the arrival's original, and read as ``Envelope/apns``.
    ///
    /// Written are `String`, `Bool`, the integer types, finite floating-point numbers, `NSNumber`, `NSNull`, arrays and
    /// dictionaries of these, with names sorted by their UTF-8 bytes: the same push gives the same bytes. Anything else,
    /// a name that is no `String`, and more bytes or depth than ``MessageLimits`` make the arrival `malformed`; its
    /// original is then what was written before, which is no complete JSON text. ``Envelope/apnsLimit`` does not count, as
    /// the service has seen to that and the size on the wire is not known.
    ///
    /// - Parameters:
    ///   - userInfo: the dictionary as the system handed it over. Read before the call returns.
    ///   - token: the adapter's own mark, given back when the arrival is settled.
    ///   - origin: the source and its facts.
    ///   - sender: the way back, where there is one.
    ///   - receivedAt: when it was received.
    ///   - deadline: when it is too late to begin, where there is a limit.
    /// - Precondition: the batch stays below 4 GiB.
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

/// Writes the dictionary of a push that the system delivered as JSON, as far as its values have a form in it.
///
/// Foundation's types are met without Foundation: its numbers and collections cast to Swift's, and its booleans, nulls
/// and decimal numbers are told by the names of their classes. A number's class says `Bool`, not its value: 1 is a
/// number.
struct NotificationWriter {
    private let limits: MessageLimits
    private var text = JSONText()
    /// The names and indices on the way to the value that is written.
    private var path: [BodyCodingKey] = []

    init(limits: MessageLimits) {
        self.limits = limits
    }

    /// What was written: all of it, or what came before the value that could not be.
    var bytes: [UInt8] { text.bytes }

    /// - Throws: `tooLarge`, `tooDeep`, `invalidValue`, `nonfiniteNumber`, with the path to the value.
    mutating func write(_ userInfo: [AnyHashable: Any]) throws(BodyError) {
        try write(object: userInfo)
    }

    /// Recurses as deep as the limits let it.
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
            throw error(.invalidValue, "a value that JSON has expected")
        }
    }

    private mutating func write(object: [AnyHashable: Any]) throws(BodyError) {
        try open(UInt8(ascii: "{"))
        var members: [(name: String, value: Any)] = []
        members.reserveCapacity(object.count)
        for (key, value) in object {
            guard let name = key.base as? String else { throw error(.invalidValue, "names that are texts expected") }
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

    /// A boolean, a number or null as JSON has it, or `nil` for a value that is none.
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

    /// By the class and not by the value: 1 casts to `Bool` too.
    private static func isBool(_ value: Any) -> Bool {
        type(of: value) == Bool.self || String(describing: type(of: value)) == "__NSCFBoolean"
    }

    private static func double(_ number: some BinaryFloatingPoint) -> Double { Double(number) }

    private func literal(ofNumber number: Double) throws(BodyError) -> String {
        guard let literal = BodyEncoder.literal(of: number) else {
            throw error(.nonfiniteNumber, "a finite number expected")
        }
        return literal
    }

    /// More digits than a `Double` holds are kept.
    private func decimalLiteral(_ text: String) throws(BodyError) -> String {
        guard BodyEncoder.isNumber(text) else { throw error(.nonfiniteNumber, "a finite number expected") }
        return text
    }

    private mutating func open(_ bracket: UInt8) throws(BodyError) {
        let depth = path.count + 1
        guard depth <= limits.depth else { throw error(.tooDeep, "at most \(limits.depth) levels expected") }
        try reserve(1)
        text.append(bracket)
    }

    private mutating func close(_ bracket: UInt8) throws(BodyError) {
        try reserve(1)
        text.append(bracket)
    }

    private func reserve(_ more: Int) throws(BodyError) {
        guard text.bytes.count + more <= limits.bytes else {
            throw error(.tooLarge, "at most \(limits.bytes) bytes expected")
        }
    }

    private func error(_ code: BodyError.Code, _ detail: String) -> BodyError {
        guard let first = path.first else { return BodyError(code, detail: detail) }
        let place = BodyPath.text(Array(path.dropFirst()), root: BodyPath.shown(first.stringValue))
        return BodyError(code, path: place, detail: detail)
    }
}
