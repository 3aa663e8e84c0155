import Signalbox
import SignalboxCore

extension ConformanceStage {
    /// Answers with the body's number, after its gate.
    static let recording: ActionName = "conformance.record"
    /// The same on a lane of its own.
    static let recordingToo: ActionName = "conformance.other"
    static let failing: ActionName = "conformance.fail"
    static let hanging: ActionName = "conformance.hang"
    /// Allows another source.
    static let forbidden: ActionName = "conformance.forbidden"
    /// Has no plugin.
    static let unknown: ActionName = "conformance.unknown"

    func register(timeout: Duration) throws {
        let source = AccessRule.source(adapter.source)
        let patient = Duration.seconds(3_600)
        for action in [ConformanceStage.recording, ConformanceStage.recordingToo] {
            try supervisor.register(action, as: ConformanceBody.self, from: source, timeout: patient) {
                [self] body, context in
                note(action, context, body)
                await slow.pass()
                return body.number
            }
        }
        try supervisor.register(ConformanceStage.failing, as: RawBody.self, from: source) { [self] _, context in
            note(ConformanceStage.failing, context, nil)
            throw ConformanceError("as it is meant to")
        }
        try supervisor.register(ConformanceStage.hanging, as: RawBody.self, from: source, timeout: timeout) {
            [self] _, context in
            note(ConformanceStage.hanging, context, nil)
            await hung.pass()
        }
        let elsewhere = AccessRule.source("elsewhere")
        try supervisor.register(ConformanceStage.forbidden, as: RawBody.self, from: elsewhere) { [self] _, context in
            note(ConformanceStage.forbidden, context, nil)
        }
    }
}
