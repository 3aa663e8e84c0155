import SignalboxCore

/// A line that a process writes to its stdout.
enum ProcessMessage: Sendable {
    /// The answer to a call.
    case answer(call: UInt64, Result<Bytes, ProcessError>)
    /// An action that the process sends on its own.
    case action(Arrival)
    /// A sign of life: the process is ready, or answers a ping.
    case alive
    /// The line means nothing, for this reason. If it names a call, that call fails.
    case unreadable(String, call: UInt64?)

    /// - Parameters:
    ///   - line: The line without its line break.
    ///   - limit: The maximum size of a line, in bytes.
    init(_ line: Bytes, limit: Int) {
        do throws(BodyError) {
            self = try ProcessMessage.read(Body(json: line, limits: MessageLimits(bytes: limit)), limit: limit)
        } catch {
            self = .unreadable(
                "it is not a JSON object as described in docs/configuration/programs.md: \(error)",
                call: nil
            )
        }
    }

    private static func read(_ object: Body, limit: Int) throws(BodyError) -> ProcessMessage {
        if let sent = object.member(at: ["send"]) { return try action(sent, limit: limit) }
        if object.member(at: ["pong"]) != nil || object.member(at: ["ready"]) != nil { return .alive }
        guard let id = object.member(at: ["id"]) else {
            return .unreadable("it has neither 'id' nor 'send'", call: nil)
        }
        let call = try id.decode(UInt64.self)
        if let error = object.member(at: ["error"]) {
            do throws(BodyError) {
                return .answer(call: call, .failure(try error.decode(ProcessError.self)))
            } catch {
                return .unreadable("its error has another form: \(error)", call: call)
            }
        }
        return .answer(call: call, .success(object.member(at: ["reply"])?.json ?? Bytes("null")))
    }

    private static func action(_ sent: Body, limit: Int) throws(BodyError) -> ProcessMessage {
        let head = try sent.decode(SentHead.self)
        let name: ActionName
        do throws(NameError) { name = try ActionName(head.action) } catch {
            return .unreadable("the name of the action that it sends is not valid: \(error)", call: nil)
        }
        let id = head.id.flatMap(ActionID.init)
        guard head.id == nil || id != nil else {
            return .unreadable(
                "the id of the action that it sends has more than \(ActionID.maximumLength) bytes",
                call: nil
            )
        }
        let origin = Origin(source: SourceSection.internalName, facts: InternalFacts())
        let body = sent.member(at: ["body"])?.json ?? Bytes("null")
        do throws(CommandFailure) {
            return .action(
                try Arrival.single(
                    Array(body),
                    from: origin,
                    .route(RouteNaming(action: name, id: id)),
                    limits: MessageLimits(bytes: limit)
                )
            )
        } catch {
            return .unreadable("the action that it sends cannot be read: \(error)", call: nil)
        }
    }

    private struct SentHead: Decodable {
        let action: String
        let id: String?
    }
}

/// An error that a process answers with.
struct ProcessError: Error, Sendable, Decodable {
    let message: String
    /// Whether the same call may succeed later.
    let retryable: Bool?
    /// The path of the member of the body that is not as expected. The process then declines the action.
    let path: String?
}

/// The lines that a process receives.
enum ProcessLine {
    /// Returns the line about an action.
    ///
    /// - Parameters:
    ///   - call: The number of the call, which the answer repeats.
    ///   - trace: The trace context of the call, or `nil` if it has none.
    static func call(_ call: UInt64, _ info: RawBody, _ context: ActionContext, trace: TraceContext?) -> [UInt8] {
        let action = context.action
        var line = JSONObject()
        line.add("id", Int(clamping: call))
        line.add("action", action.name.text)
        line.add("actionID", action.id.text)
        line.add("receivedAt", WallTimeText.utc(action.receivedAt))
        line.add("attempt", context.attempt)
        if context.isRedelivered { line.add("redelivered", true) }
        line.add("origin") { origin in
            origin.add("source", context.origin.source.text)
            origin.add(context.origin.facts)
        }
        for (name, value) in trace?.members ?? [] { line.add(name, value) }
        if info.kind != .json { line.add("bodyKind", info.kind.rawValue) }
        line.add("body", json: action.body.json)
        return line.line
    }

    /// Returns the line that cancels a call.
    static func cancellation(of call: UInt64) -> [UInt8] { Array("{\"cancel\":\(call)}\n".utf8) }

    /// The line that asks a process for a sign of life.
    static let ping = Array("{\"ping\":1}\n".utf8)
}
