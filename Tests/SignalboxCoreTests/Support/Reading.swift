import SignalboxCore

struct TestFacts: OriginFacts {
    static let kind = "test"
    let note: String
}

/// Helpers that read texts and messages through a batch, as adapters do.
enum Reading {
    static let origin = Origin(source: "test", facts: TestFacts(note: "here"))
    static let time = WallTime(seconds: 1_700_000_000)
    static let anyRoute = Envelope.route(RouteNaming(action: "test"))

    /// Returns one arrival. `before` bytes of other messages shift it within the batch.
    static func arrival(
        _ message: [UInt8],
        envelope: Envelope = .standard,
        payload: PayloadKind = .json,
        limits: MessageLimits = MessageLimits(),
        before: Int = 0
    ) -> Arrival? {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        if before > 0 {
            append([UInt8](repeating: 0x20, count: before), to: &batch, envelope: anyRoute, payload: .bytes)
        }
        append(message, to: &batch, envelope: envelope, payload: payload)
        return batch.take().last
    }

    static func append(
        _ message: [UInt8],
        to batch: inout ArrivalBatch,
        token: UInt64 = 0,
        envelope: Envelope = .standard,
        payload: PayloadKind = .json
    ) {
        message.withUnsafeBytes { bytes in
            batch.append(
                bytes,
                token: token,
                origin: origin,
                receivedAt: time,
                envelope: envelope,
                payload: payload
            )
        }
    }

    static func action(_ text: String, envelope: Envelope = .standard) throws -> Action {
        try Missing.unwrap(arrival(Array(text.utf8), envelope: envelope)).reading.get()
    }

    /// Returns the body of a JSON text.
    static func body(
        _ text: [UInt8],
        captures: [RouteNaming.Capture] = [],
        payload: PayloadKind = .json,
        limits: MessageLimits = MessageLimits(bytes: 1 << 24),
        before: Int = 0
    ) throws -> Body {
        let envelope = Envelope.route(RouteNaming(action: "test", captures: captures))
        let arrival = arrival(text, envelope: envelope, payload: payload, limits: limits, before: before)
        return try Missing.unwrap(arrival).reading.get().body
    }

    static func body(_ text: String, captures: [RouteNaming.Capture] = []) throws -> Body {
        try body(Array(text.utf8), captures: captures)
    }

    /// Returns the reader's error for a JSON text, or `nil`. An empty text is read as an envelope, because an empty
    /// payload of a route is null by rule.
    static func error(
        _ text: [UInt8],
        limits: MessageLimits = MessageLimits(bytes: 1 << 24),
        before: Int = 0
    ) -> BodyError? {
        do {
            if text.isEmpty { _ = try arrival(text, before: before)?.reading.get() }
            _ = try body(text, limits: limits, before: before)
            return nil
        } catch {
            return (error as? Outcome.Rejection)?.bodyError
        }
    }

    static func error(_ text: String) -> BodyError? { error(Array(text.utf8)) }

    /// Returns the decoding error, or `nil`.
    static func decodingError<Value: Decodable>(
        _ text: String,
        as type: Value.Type,
        captures: [RouteNaming.Capture] = []
    ) throws -> BodyError? {
        decodingError(try body(text, captures: captures), as: type)
    }

    static func decodingError<Value: Decodable>(_ body: Body, as type: Value.Type) -> BodyError? {
        do {
            _ = try body.decode(type)
            return nil
        } catch {
            return error
        }
    }
}

/// An error for a missing value that a test requires.
struct Missing: Error {
    static func unwrap<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }
}
