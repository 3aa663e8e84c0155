import SignalboxCore

extension Outcome {
    /// Reason and detail, for a log line.
    var text: String {
        switch self {
        case .handled: name
        case .rejected(let rejection): rejection.description
        case .failed(let failure): failure.description
        case .abandoned(let abandonment): abandonment.text
        }
    }

    /// What whoever reads the log can do about it.
    var advice: String? {
        switch self {
        case .handled: nil
        case .rejected(let rejection): rejection.advice
        case .failed(let failure):
            failure.reason == .timeout
                ? "give the plugin a longer timeout, or find out what it waits for"
                : "see the plugin; the original message is in the dead letter"
        case .abandoned(.holdLimit): "the plugin is slower than its source may wait; the source sends it again"
        case .abandoned(let abandonment):
            abandonment.isGivenBack
                ? "remove the cause; until then the source redelivers the message after growing pauses"
                : "the source sends it again where it can"
        }
    }
}

extension Outcome.Rejection {
    var advice: String {
        switch reason {
        case .malformed: "see what the sender sends; the original message is in the dead letter"
        case .unknownAction: "register a plugin for this action, or find out who sends it"
        case .sourceNotAllowed: "name this origin in the plugin's access rule if it may call it"
        case .invalidBody: "compare the sender's body with the plugin's Info"
        case .expired: "see whether the plugin or its source is too slow"
        case .idConflict: "let the sender give each message an id of its own, or turn repeats off for the source"
        case .deliveryLimit: "find out why this message ends the program; it is in the dead letter"
        case .overloaded: "let the source send less, or raise its rate limit"
        default: "find out what the plugin waits for"
        }
    }
}
