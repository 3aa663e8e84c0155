import SignalboxCore

/// The text of a standard envelope.
enum StandardEnvelope {
    /// - Parameters:
    ///   - id: escaped here.
    ///   - body: put in as it is.
    static func text(_ action: ActionName, id: ActionID, body: String) -> String {
        #"{"action":"\#(action)","id":\#(quoted(id.text)),"body":\#(body)}"#
    }

    /// A text as JSON.
    static func quoted(_ text: String) -> String {
        do {
            return String(decoding: try BodyWriter.write(text), as: UTF8.self)
        } catch {
            preconditionFailure("every text has a JSON form: \(error)")
        }
    }
}
