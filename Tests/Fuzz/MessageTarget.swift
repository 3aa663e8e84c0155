import SignalboxCore

/// Checks that a message has the same meaning at every position in a batch, and that a rejected one keeps its bytes.
enum MessageTarget {
    private struct Facts: OriginFacts {
        static let kind = "fuzz"
    }

    private static let origin = Origin(source: "fuzz", facts: Facts())
    private static let limits = MessageLimits(bytes: 1 << 16, depth: 64)
    private static let pool = ArrivalPool()
    /// A message whose start could continue a number.
    private static let neighbour = Array("5.5e5".utf8)

    static func run(_ message: [UInt8]) {
        let shapes = MessageShape.all(for: message)
        let alone = shapes.map { shape in
            arrivals { batch in append(message, shape, to: &batch) }.map(MessageAnswer.init)
        }
        for order in [Array(shapes.indices), Array(shapes.indices.reversed())] {
            let together = arrivals { batch in
                for index in order {
                    append(message, shapes[index], to: &batch)
                    append(message, shapes[index], to: &batch)
                    append(neighbour, shapes[0], to: &batch)
                }
            }
            require(together.count == order.count * 3, "each message is one arrival")
            for (index, arrival) in together.enumerated() where index % 3 < 2 {
                let answer = MessageAnswer(arrival)
                answer.check(against: message)
                let first = alone[order[index / 3]]
                require([answer] == first, "\(shapes[order[index / 3]].name): \(answer) in a batch, \(first) alone")
            }
        }
    }

    private static func arrivals(_ fill: (inout ArrivalBatch) -> Void) -> [Arrival] {
        var batch = ArrivalBatch(pool: pool, limits: limits)
        fill(&batch)
        return batch.take()
    }

    private static func append(_ message: [UInt8], _ shape: MessageShape, to batch: inout ArrivalBatch) {
        message.withUnsafeBytes { bytes in
            batch.append(
                bytes,
                token: 7,
                origin: origin,
                receivedAt: WallTime(seconds: 0),
                envelope: shape.envelope,
                payload: shape.payload
            )
        }
    }
}

/// An interpretation of a message's bytes: an envelope and a payload kind.
struct MessageShape {
    let name: String
    let envelope: Envelope
    let payload: PayloadKind

    /// Every envelope with every payload kind that it supports. The captures are made from the message, so that they
    /// collide with members of the same name, and so that their texts lie beside similar bytes of the message.
    static func all(for message: [UInt8]) -> [MessageShape] {
        let head = String(decoding: message.prefix(6), as: UTF8.self)
        let tail = String(decoding: message.suffix(9), as: UTF8.self)
        let captures = [
            RouteNaming.Capture(name: "n", value: "12"), RouteNaming.Capture(name: "e5", value: "-0"),
            RouteNaming.Capture(name: tail, value: "true"), RouteNaming.Capture(name: "e\u{301}", value: ""),
            RouteNaming.Capture(name: "n", value: tail), RouteNaming.Capture(name: "h", value: head),
            RouteNaming.Capture(name: "a", value: "7"),
        ]
        let routes = [
            ("plain route", RouteNaming(action: "fuzz")),
            ("route with captures", RouteNaming(action: "fuzz", id: ActionID("i"), captures: captures)),
        ]
        var shapes = routes.flatMap { name, naming in
            PayloadKind.allCases.map { MessageShape(name: "\(name), \($0)", envelope: .route(naming), payload: $0) }
        }
        let unnamed = RouteNaming(action: nil, captures: captures)
        shapes.append(MessageShape(name: "standard", envelope: .standard, payload: .json))
        shapes.append(MessageShape(name: "route to an envelope", envelope: .route(unnamed), payload: .json))
        shapes.append(MessageShape(name: "handler", envelope: .handler("page"), payload: .json))
        for payload: PayloadEnvelope in [.apns, .cloudEvents] {
            shapes.append(MessageShape(name: "\(payload)", envelope: .payload(payload), payload: .json))
            let route = Envelope.route(unnamed, payload: payload)
            shapes.append(MessageShape(name: "route to \(payload)", envelope: route, payload: .json))
        }
        return shapes
    }
}

/// The observable properties of an arrival, except assigned ids.
struct MessageAnswer: Equatable {
    private var original: [UInt8]
    private var token: UInt64
    private var name: String?
    private var id: String?
    private var json: String?
    private var aside: String?
    private var envelope: EnvelopeKind
    private var decoded: [String] = []
    private var errors: [BodyError] = []
    private var isRejected = false

    init(_ arrival: Arrival) {
        original = Array(arrival.original)
        token = arrival.token
        envelope = arrival.envelope
        switch arrival.reading {
        case .success(let action):
            name = action.name.text
            id = action.idKey == .assigned ? nil : "\(action.idKey) \(action.id.text)"
            json = action.body.jsonText
            aside = (action.aps ?? action.cloudEventAttributes)?.jsonText
            require(!action.id.text.isEmpty && action.id.text.utf8.count <= ActionID.maximumLength, "an id is bounded")
            require((try? ActionName(action.name.text)) == action.name, "a name is in the grammar")
            BodyReading.checkRoundTrip(action.body)
            let reading = BodyReading(of: action.body)
            decoded = reading.values
            errors = reading.errors
        case .failure(let rejection):
            isRejected = true
            require(rejection.reason == .malformed, "an unreadable message is malformed")
            guard let error = rejection.bodyError else { fatalError("a rejection has no error") }
            errors = [error]
        }
    }

    func check(against message: [UInt8]) {
        require(original == message, "an arrival has its original bytes")
        require(token == 7, "an arrival has its token")
        for error in errors {
            require((0...message.count).contains(error.offset ?? 0), "\(error) has its offset within the message")
            require(isRejected || error.path.hasPrefix("body"), "the path of \(error) begins with body")
        }
    }
}

/// Checks that names and ids are accepted if and only if they match their grammars.
enum NameTarget {
    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let isName = (1...64).contains(text.utf8.count) && isInGrammar(text.utf8) && !text.hasPrefix("signalbox.")
        require((try? ActionName(text).text) == (isName ? text : nil), "\(text) as the name of an action")
        require((try? SourceName(text).text) == (isName ? text : nil), "\(text) as the name of a source")
        let isID = (1...128).contains(text.utf8.count)
        require(ActionID(text).map { Array($0.text.utf8) } == (isID ? Array(text.utf8) : nil), "\(text) as an id")
    }

    private static func isInGrammar(_ text: String.UTF8View) -> Bool {
        let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        let others = Set("0123456789._-".utf8)
        return text.first.map(letters.contains) == true
            && text.allSatisfy { letters.contains($0) || others.contains($0) }
    }
}
