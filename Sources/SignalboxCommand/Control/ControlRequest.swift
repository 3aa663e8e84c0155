import Logging
import SignalboxCore

/// What a command asks the running program for. It is one line of JSON, and so is each part of the answer.
enum ControlRequest: Sendable, Equatable {
    /// How the program does.
    ///
    /// - Parameter history: Whether the answer has what happened in each of the last seconds.
    case status(history: Bool)
    /// Dispatches an action from the source `internal`, and answers with its outcome.
    case send(action: ActionName, id: ActionID?, body: Bytes)
    /// Reads the configuration again and applies what has changed.
    case reload
    /// Ends the program as SIGTERM does, and answers until it has ended.
    ///
    /// - Parameter leavesGroups: Whether the MQTT sources leave their groups before.
    case drain(leavesGroups: Bool)
    /// Sets the level of the log lines or, if it is `nil`, only answers with it.
    case logLevel(Logger.Level?)
    /// Answers with actions as they are settled, until the command closes the connection.
    case tap(TapSelection)

    /// Whether the request changes nothing.
    var isReadOnly: Bool {
        switch self {
        case .status, .tap, .logLevel(nil): true
        case .send, .reload, .drain, .logLevel: false
        }
    }

    /// The name of the request in JSON.
    var name: String {
        switch self {
        case .status: "status"
        case .send: "send"
        case .reload: "reload"
        case .drain: "drain"
        case .logLevel: "logLevel"
        case .tap: "tap"
        }
    }

    /// The request as a line.
    var line: [UInt8] {
        var object = JSONObject()
        object.add("request", name)
        switch self {
        case .status(let history): if history { object.add("history", true) }
        case .send(let action, let id, let body):
            object.add("action", action.text)
            object.add("id", id?.text)
            object.add("body", json: EscapedJSON.compact(body))
        case .logLevel(let level): object.add("level", level?.rawValue)
        case .tap(let selection): selection.add(to: &object)
        case .drain(let leavesGroups): if leavesGroups { object.add("leaveGroups", true) }
        case .reload: break
        }
        return object.line
    }

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - line: The line without its line break.
    ///   - limits: The limits of the line.
    /// - Throws: ``ControlRefusal`` that says what is wrong with the line.
    init(_ line: Bytes, limits: MessageLimits) throws(ControlRefusal) {
        let (head, object) = try ControlRequest.head(of: line, limits)
        switch head.request {
        case "status": self = .status(history: head.history ?? false)
        case "send": self = try ControlRequest.send(head, object)
        case "reload": self = .reload
        case "drain": self = .drain(leavesGroups: head.leaveGroups ?? false)
        case "logLevel": self = .logLevel(try head.level.map(ControlRequest.level))
        case "tap": self = .tap(try TapSelection(head))
        default: throw ControlRefusal(.unknownRequest, "the program does not know this request; it may be older")
        }
    }

    /// The members of all requests.
    struct Head: Decodable {
        let request: String
        var history: Bool?
        var leaveGroups: Bool?
        var action: String?
        var id: String?
        var level: String?
        var source: String?
        var outcome: String?
        var sample: Int?
        var rate: Int?
        var bodies: Bool?
    }

    private static func head(of line: Bytes, _ limits: MessageLimits) throws(ControlRefusal) -> (Head, Body) {
        do throws(BodyError) {
            let object = try Body(json: line, limits: limits)
            return (try object.decode(Head.self), object)
        } catch {
            throw ControlRefusal(.invalidRequest, "the request cannot be read: \(error)")
        }
    }

    private static func send(_ head: Head, _ object: Body) throws(ControlRefusal) -> ControlRequest {
        let id = head.id.flatMap(ActionID.init)
        guard head.id == nil || id != nil else {
            throw ControlRefusal(.invalidRequest, "an id has 1 to \(ActionID.maximumLength) bytes")
        }
        let action = try name(head.action ?? "") { (text) throws(NameError) in try ActionName(text) }
        return .send(action: action, id: id, body: object.member(at: ["body"])?.json ?? Bytes("null"))
    }

    private static func level(_ text: String) throws(ControlRefusal) -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw ControlRefusal(.invalidRequest, "there is no such level; the levels are \(known)")
        }
        return level
    }

    /// Returns the name that the text is.
    static func name<Name>(_ text: String, _ make: (String) throws(NameError) -> Name) throws(ControlRefusal) -> Name {
        do throws(NameError) { return try make(text) } catch {
            throw ControlRefusal(.invalidRequest, "\(error)")
        }
    }
}

/// Why the program does not do what a command asks for.
struct ControlRefusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of refusal, as JSON names it.
    enum Code: String, Sendable, CaseIterable, Decodable {
        /// The line is not a request.
        case invalidRequest
        /// The body of an action is not JSON, or too large for the program.
        case invalidBody
        /// The program has no such request.
        case unknownRequest
        /// The socket only lets commands look.
        case readOnly
        /// Too many commands are connected.
        case busy
        /// The program is ending.
        case ending
    }

    let code: Code
    let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// The refusal as the last line of an answer.
    var line: [UInt8] {
        var object = JSONObject()
        object.add("error") { error in
            error.add("code", code.rawValue)
            error.add("detail", description)
        }
        return object.line
    }
}
