import Logging
import MQTTPush

/// One request, from what it says to the exit status.
enum RequestProgram {
    /// How much longer than a reply is waited for the whole may take, so that the request itself says why there is none.
    private static let margin: Duration = .seconds(5)

    /// Asks, shows the reply, and says how it went. Its diagnostics are out when it returns.
    static func status(of request: PublishRequest, raw: RawOutput?, logger: Logger) async -> CommandStatus {
        do {
            let signals = await SignalWatch.begin()
            let output = StandardOutput()
            let status = try await status(request, raw, output, signals, logger)
            let lost = await output.finish()
            if let lost, lost != .closed { DiagnosticOutput.shared.tell("\(lost)") }
            await DiagnosticOutput.shared.flush()
            // Until here a second signal ends the program, whatever it waits for.
            withExtendedLifetime(signals) {}
            return lost == nil || lost == .closed ? status : .outputFailed
        } catch {
            return await CommandRefusal(error).told()
        }
    }

    private static func status(
        _ request: PublishRequest,
        _ raw: RawOutput?,
        _ output: StandardOutput,
        _ signals: SignalWatch,
        _ logger: Logger
    ) async throws -> CommandStatus {
        var message = request.message
        message.payload = try await PublishProgram.payload(request.payload)
        let timeout = request.timeout ?? .seconds(30)
        let publisher = try MQTTPublisher(request.publisher, logger: logger)
        let session = PublisherSession<Result<MQTTReply, MQTTPublishError>>(
            publisher: publisher,
            timeout: timeout + margin
        )
        let end = await session.run(signals) { [message] in
            do throws(MQTTPublishError) {
                return .success(try await publisher.request(message, timeout: timeout))
            } catch {
                return .failure(error)
            }
        }
        let topic = message.topic.debugDescription
        if case .success(let reply)? = end.value {
            let record = ReplyRecord(reply: reply)
            let line = output.isTerminal ? record.terminalLine : record.jsonLine
            output.offer(raw?.line(reply.payload, isTerminal: output.isTerminal) ?? line)
            return record.status
        }
        if let failure = end.failure {
            DiagnosticOutput.shared.tell("no reply from \(topic): \(failure)")
            return (failure as? MQTTPushError).map { CommandStatus($0) } ?? .unavailable
        }
        guard case .failure(let error)? = end.value else { return end.interruption ?? .unavailable }
        DiagnosticOutput.shared.tell("no reply from \(topic): \(error)")
        return end.interruption ?? CommandStatus(error)
    }
}
