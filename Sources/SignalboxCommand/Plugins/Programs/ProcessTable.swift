import Logging
import SignalboxCore
import Synchronization

/// The processes of all plugins of a run. Plugins with equal settings share them, and a reload keeps those that a plugin
/// still uses. Safe to use from any thread.
final class ProcessTable: Sendable {
    private struct Entry {
        weak var plugin: ProcessPlugin?
    }

    /// The source of the actions that processes send.
    let messages = ProgramMessages()
    private let entries = Mutex<[ProcessSection: Entry]>([:])
    private let hasMessages = Mutex(false)
    private let pools = AsyncStream.makeStream(of: ProcessPool.self)

    /// Returns the plugin for the settings. Its processes start when ``run()`` runs.
    ///
    /// - Parameters:
    ///   - plugin: The plugin's section.
    ///   - endLimit: How long a process has to end after SIGTERM.
    func plugin(
        _ section: ProcessSection,
        of plugin: PluginSection,
        endLimit: Duration,
        logger: Logger
    ) -> ProcessPlugin {
        let shared = shared(section, endLimit: endLimit, logger: logger)
        shared.pool.limit(plugin.action, to: plugin.maxConcurrent)
        return shared
    }

    private func shared(_ section: ProcessSection, endLimit: Duration, logger: Logger) -> ProcessPlugin {
        entries.withLock { entries in
            if let known = entries[section]?.plugin { return known }
            let pool = ProcessPool(section, endLimit: endLimit, messages, logger: logger)
            let plugin = ProcessPlugin(pool)
            entries = entries.filter { $0.value.plugin != nil }
            entries[section] = Entry(plugin: plugin)
            pools.continuation.yield(pool)
            return plugin
        }
    }

    /// Returns `true` the first time: the caller then adds ``messages`` to its supervisor.
    func addsMessages() -> Bool {
        hasMessages.withLock { hasMessages in
            defer { hasMessages = true }
            return !hasMessages
        }
    }

    /// Waits until the processes of all plugins are ready, at most as long as their settings say.
    func untilReady() async {
        let plugins = entries.withLock { $0.values.compactMap(\.plugin) }
        await withTaskGroup(of: Void.self) { group in
            for plugin in plugins { group.addTask { await plugin.pool.untilReady() } }
        }
    }

    /// Runs the processes until the task is cancelled, and then ends them.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await pool in pools.stream { group.addTask { await pool.run() } }
        }
    }
}

/// Hands each action to a process that stays. This is the plugin `process`.
///
/// The processes end with the last reference to the plugin.
final class ProcessPlugin: Sendable {
    fileprivate let pool: ProcessPool

    init(_ pool: ProcessPool) { self.pool = pool }

    deinit { pool.end() }

    /// Returns the reply of the process as JSON text.
    ///
    /// - Parameter timeout: How long a call may take.
    func reply(to info: RawBody, _ context: ActionContext, timeout: Duration) async throws -> Bytes {
        let trace = context.passedTrace
        return try await pool.call(timeout: timeout) { ProcessLine.call($0, info, context, trace: trace) }
    }
}
