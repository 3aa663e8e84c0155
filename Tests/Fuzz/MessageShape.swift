import SignalboxCore

/// One way in which the bytes of a message may be read.
struct MessageShape {
    let name: String
    let envelope: Envelope
    let payload: PayloadKind

    /// Every envelope with every payload kind that it reads. The captures are made of the message, so that they meet
    /// members of the same name, and their texts lie beside what could be taken for a part of them.
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
