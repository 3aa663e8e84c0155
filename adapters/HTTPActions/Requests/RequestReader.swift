import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// Turns requests, and stored messages that were requests, into arrivals.
struct RequestReader: Sendable {
    let source: SourceName
    let routes: HTTPActionRoutes
    let limits: MessageLimits

    /// A request whose action is known as far as its head says.
    struct Message {
        var facts: HTTPActionFacts
        /// The id that the request states.
        var id: ActionID?
        var body: [UInt8]
    }

    /// The number that identifies an arrival, and what belongs to it.
    struct Ticket {
        let token: UInt64
        var sender: (any Sender)?
        let receivedAt: WallTime
        var deadline: ContinuousClock.Instant?
    }

    /// How the bytes of a message are read.
    private struct Reading {
        let envelope: Envelope
        let payload: PayloadKind
        var unreadableItems = 0
    }

    func append(_ message: Message, _ ticket: Ticket, to batch: inout ArrivalBatch) {
        let origin = Origin(source: source, facts: message.facts)
        message.body.withUnsafeBytes { original in
            do throws(Outcome.Rejection) {
                let reading = try reading(of: message)
                batch.append(
                    original,
                    token: ticket.token,
                    origin: origin,
                    sender: ticket.sender,
                    receivedAt: ticket.receivedAt,
                    deadline: ticket.deadline,
                    envelope: reading.envelope,
                    payload: reading.payload
                )
                if reading.unreadableItems > 0 { batch.setUnreadableItems(reading.unreadableItems) }
            } catch {
                batch.append(
                    rejected: error,
                    original: original,
                    token: ticket.token,
                    origin: origin,
                    sender: ticket.sender,
                    receivedAt: ticket.receivedAt
                )
            }
        }
    }

    private func reading(of message: Message) throws(Outcome.Rejection) -> Reading {
        guard let match = try routes.match(message.facts.path, query: message.facts.query) else {
            throw Outcome.Rejection(.unknownAction, detail: "no route matches the path of the request")
        }
        let naming = match.naming
        let id = message.id ?? naming.id
        let type = message.facts.contentType ?? MediaType.bytes
        if type == MediaType.event {
            // The event's type names the action, and its id is the id.
            let event = RouteNaming(action: nil, captures: naming.captures)
            return Reading(envelope: .route(event, payload: .cloudEvents), payload: .json)
        }
        guard let action = naming.action else {
            throw Outcome.Rejection(.malformed, detail: "neither the path nor a CloudEvent names the action")
        }
        if message.body.isEmpty || message.facts.hasForm && match.payload == .contentType {
            return try fields(of: message, action, id, match)
        }
        let whole = RouteNaming(action: action, id: id, captures: naming.captures)
        return Reading(
            envelope: .route(whole),
            payload: RequestReader.payload(match.payload, type),
            unreadableItems: match.unreadableItems
        )
    }

    private func fields(
        of message: Message,
        _ action: ActionName,
        _ id: ActionID?,
        _ match: HTTPActionRoutes.Match
    ) throws(Outcome.Rejection) -> Reading {
        guard message.body.count <= limits.bytes else {
            throw Outcome.Rejection(.malformed, BodyError(.tooLarge, detail: "expected at most \(limits.bytes) bytes"))
        }
        var captures = match.naming.captures
        var unreadable = match.unreadableItems
        if !message.body.isEmpty {
            do throws(URLTextError) {
                let form = try ReadableQuery(form: message.body)
                captures += try FieldList.captures(of: form, without: Set(captures.map(\.name)))
                unreadable += form.unreadable
            } catch {
                throw Outcome.Rejection(.malformed, detail: "the form cannot be read: \(error)")
            }
        }
        return Reading(
            envelope: .address(action, id: id, captures: captures),
            payload: .json,
            unreadableItems: unreadable
        )
    }

    private static func payload(_ payload: HTTPActionPayload, _ type: String) -> PayloadKind {
        switch payload {
        case .json: .json
        case .text: .text
        case .bytes: .bytes
        case .contentType: MediaType.isJSON(type) ? .json : type.hasPrefix("text/") ? .text : .bytes
        }
    }
}

extension RequestReader {
    /// Returns one arrival for each stored message, in order, with tokens from 0. The arrivals have no sender.
    func arrivals(of messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool(), limits: limits)
        for (position, stored) in messages.enumerated() {
            let token = UInt64(position)
            guard let facts = stored.facts(as: HTTPActionFacts.self) else {
                batch.append(unreadable: stored, token: token)
                continue
            }
            let message = Message(facts: facts, id: stored.hasSenderID ? stored.id : nil, body: Array(stored.original))
            let ticket = Ticket(token: token, receivedAt: stored.receivedAt, deadline: stored.deadline(at: now))
            append(message, ticket, to: &batch)
        }
        return batch.take(keepingIDsOf: messages)
    }
}
