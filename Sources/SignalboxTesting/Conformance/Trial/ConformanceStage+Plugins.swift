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

    /// Weak, as the supervisor keeps its plugins and the stage its supervisor.
    func register(timeout: Duration) throws {
        let source = AccessRule.source(adapter.source)
        let patient = Duration.seconds(3_600)
        for action in [ConformanceStage.recording, ConformanceStage.recordingToo] {
            try supervisor.register(
                action,
                as: ConformanceBody.self,
                from: source,
                options: PluginOptions(timeout: patient)
            ) {
                [weak self] body, context in
                self?.note(action, context, body)
                await self?.slow.pass()
                return body.number
            }
        }
        try supervisor.register(ConformanceStage.failing, as: RawBody.self, from: source) { [weak self] _, context in
            self?.note(ConformanceStage.failing, context, nil)
            throw ConformanceError("as it is meant to")
        }
        try supervisor.register(
            ConformanceStage.hanging,
            as: RawBody.self,
            from: source,
            options: PluginOptions(timeout: timeout)
        ) {
            [weak self] _, context in
            self?.note(ConformanceStage.hanging, context, nil)
            await self?.hung.pass()
        }
        let elsewhere = AccessRule.source("elsewhere")
        try supervisor.register(ConformanceStage.forbidden, as: RawBody.self, from: elsewhere) {
            [weak self] _, context in
            self?.note(ConformanceStage.forbidden, context, nil)
        }
    }
}
