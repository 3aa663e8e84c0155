import AdapterSupport
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// Does what commands ask the running program for.
final class ControlService: Sendable {
    /// How often an answer says how far a drain is.
    private static let drainInterval = Duration.seconds(1)

    private let section: ControlSection
    private let supervisor: Supervisor
    private let reports: StatusReports
    private let reload: ConfigurationReload
    private let sender: ActionSender
    private let groups: GroupHandover
    private let level: LogThreshold
    private let logger: Logger
    /// Set when the run has ended.
    private let ended = Promise<RunSummary>()

    init(
        _ section: ControlSection,
        _ reports: StatusReports,
        _ reload: ConfigurationReload,
        _ sender: ActionSender,
        _ groups: GroupHandover,
        level: LogThreshold,
        logger: Logger
    ) {
        self.section = section
        supervisor = reports.supervisor
        (self.reports, self.reload) = (reports, reload)
        (self.sender, self.groups, self.level, self.logger) = (sender, groups, level, logger)
    }

    /// Begins to answer.
    ///
    /// - Returns: The socket, which the caller closes, or `nil` if the path follows from the store's and cannot be used.
    /// - Throws: ``CommandFailure`` if the configuration names a path that cannot be used.
    func start() throws(CommandFailure) -> ControlSocket? {
        // The body of an action, which escapes may lengthen, and what is around it.
        let lineLimit: @Sendable () -> Int = { [reload] in reload.configuration.limits.bytes * 2 + 4_096 }
        do throws(ControlSocketError) {
            let socket = try ControlSocket(path: section.path, lineLimit: lineLimit) { [self] line, connection in
                await answer(line, connection)
            }
            logger.debug("the control socket is open", metadata: ["file": "\(section.path)"])
            return socket
        } catch {
            guard section.isImplied else { throw CommandFailure(.cannotListen, "\(error)") }
            logger.warning(
                "the control socket is not open; commands cannot ask this program",
                metadata: [
                    "file": "\(error.path)", "problem": "\(error.detail)",
                    "advice": "set 'control' in the configuration to another path, or to none",
                ]
            )
            return nil
        }
    }

    /// Tells commands that wait for the end that the run has ended.
    func end(_ summary: RunSummary) { ended.set(summary) }

    private func answer(_ line: Bytes, _ connection: ControlConnection) async {
        let depth = min(512, reload.configuration.limits.depth + 1)
        let limits = MessageLimits(bytes: max(1, line.count), depth: depth)
        do throws(ControlRefusal) {
            let request = try ControlRequest(line, limits: limits)
            guard !section.isReadOnly || request.isReadOnly else {
                throw ControlRefusal(.readOnly, "'control' is read_only in the configuration; commands may only look")
            }
            try await answer(request, connection)
        } catch {
            connection.write(error.line)
        }
    }

    private func answer(_ request: ControlRequest, _ connection: ControlConnection) async throws(ControlRefusal) {
        switch request {
        case .status(let history): connection.write(reports.status(history: history).line)
        case .send(let action, let id, let body): connection.write(try await sender.send(action, id, body))
        case .reload: try await answerReload(connection)
        case .drain(let leavesGroups): await drain(connection, leavesGroups: leavesGroups)
        case .logLevel(let wanted): connection.write(change(to: wanted))
        case .tap(let selection): await tap(selection, connection)
        }
    }

    private func answerReload(_ connection: ControlConnection) async throws(ControlRefusal) {
        logger.notice("a command asked for a reload")
        switch await reload.request() {
        case .applied(let change): connection.write(change.line)
        case .refused(let refusal): connection.write(refusal.line)
        case .ending: throw ControlRefusal(.ending, "the program is ending")
        }
    }

    private func drain(_ connection: ControlConnection, leavesGroups: Bool) async {
        logger.notice("a command asked for the end of the program")
        if leavesGroups {
            groups.request()
        } else {
            await InheritedSockets.shared.leave()
            supervisor.shutDown()
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                repeat {
                    var object = JSONObject()
                    object.add("isDrained", false)
                    object.add("unsettled", supervisor.report.unsettled)
                    connection.write(object.line)
                } while (try? await Task.sleep(for: ControlService.drainInterval)) != nil
            }
            group.addTask { [self] in
                guard let summary = await ended.valueUnlessCancelled() else { return }
                connection.write(summary.line)
            }
            group.addTask { _ = await connection.closed.valueUnlessCancelled() }
            // The first of the three never ends by itself.
            await group.next()
            group.cancelAll()
        }
    }

    private func change(to wanted: Logger.Level?) -> [UInt8] {
        let former = level.level
        if let wanted, wanted != former {
            level.set(wanted)
            logger.notice("a command changed the log level to \(wanted)")
        }
        var object = JSONObject()
        object.add("logLevel", level.level.rawValue)
        if wanted != nil { object.add("former", former.rawValue) }
        return object.line
    }

    private func tap(_ selection: TapSelection, _ connection: ControlConnection) async {
        let tap = ActionTap(selection)
        supervisor.observe(tap)
        defer { supervisor.stopObserving(tap) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await tap.serve { line, _ in connection.write(line, isOptional: true) } }
            group.addTask { _ = await connection.closed.valueUnlessCancelled() }
            group.addTask { [ended] in _ = await ended.valueUnlessCancelled() }
            await group.next()
            group.cancelAll()
        }
    }
}
