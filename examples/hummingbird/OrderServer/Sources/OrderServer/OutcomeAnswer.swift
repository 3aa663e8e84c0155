import HTTPTypes
import Hummingbird
import NIOCore
import SignalboxCore

/// An outcome as an HTTP response: the status, the header `Signalbox-Outcome`, and JSON, as the library `HTTPActions` answers it.
struct OutcomeAnswer {
    let response: Response

    init(_ outcome: Outcome, id: ActionID?) {
        var headers: HTTPFields = [.contentType: "application/json", Self.outcomeName: outcome.code]
        let status = Self.status(of: outcome)
        if [.tooManyRequests, .serviceUnavailable].contains(status) { headers[.retryAfter] = "1" }
        var body = ByteBuffer()
        if case .handled(let reply) = outcome {
            if let reply, !reply.isEmpty { body.writeBytes(reply) } else { headers[.contentType] = nil }
        } else {
            let error = Problem(id: id?.text, outcome: outcome.name, error: Problem.Detail(outcome))
            body.writeBytes((try? BodyWriter.write(error)).map(Array.init) ?? [])
            body.writeString("\n")
        }
        response = Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
    }

    private static let outcomeName = HTTPField.Name("Signalbox-Outcome")!

    /// The table of docs/configuration/requests.md.
    private static func status(of outcome: Outcome) -> HTTPResponse.Status {
        switch outcome {
        case .handled: .ok
        case .rejected(let rejection): status(of: rejection)
        case .failed(let failure): failure.reason == .timeout ? .gatewayTimeout : .internalServerError
        case .abandoned: .serviceUnavailable
        }
    }

    private static func status(of rejection: Outcome.Rejection) -> HTTPResponse.Status {
        switch rejection.reason {
        case .malformed: rejection.bodyError?.code == .tooLarge ? .contentTooLarge : .badRequest
        case .sourceNotAllowed: .forbidden
        case .unknownAction: .notFound
        case .idConflict: .conflict
        case .expired: .gone
        case .invalidBody: .unprocessableContent
        case .overloaded: .tooManyRequests
        case .unavailable: .serviceUnavailable
        // The program, and not the client, has to change something.
        default: .internalServerError
        }
    }
}

/// The body of an answer to a message that was not handled. It helps the client to correct the message, and tells nothing about the
/// program.
private struct Problem: Encodable {
    struct Detail: Encodable {
        let code: String
        let message: String
        let path: String?

        init(_ outcome: Outcome) {
            code = outcome.code
            let error: BodyError? = if case .rejected(let rejection) = outcome { rejection.bodyError } else { nil }
            path = error.flatMap { $0.path.isEmpty ? nil : $0.path }
            message =
                switch outcome {
                // The detail names the plugin's access rule.
                case .rejected(let rejection) where rejection.reason == .sourceNotAllowed:
                    "this client may not call the action"
                case .rejected(let rejection): rejection.detail
                // The error of a plugin belongs in the log alone.
                case .failed(let failure) where failure.reason == .timeout: "the plugin did not answer in time"
                case .failed: "the plugin failed"
                case .handled, .abandoned: "the program abandoned the message"
                }
        }
    }

    let id: String?
    let outcome: String
    let error: Detail
}
